/** Evaluates `POST /v1/moderations`; eval/README.md says what is measured. */
import { runEvaluation } from '../../bench/harness/evaluation.ts';
import { FILES, judgeHatecheck, judgeOpenai, judgeXstest } from './tables.ts';
import { readWordWeights } from './word-weights.ts';

await runEvaluation({
  name: 'moderation',
  models: ['moderation-v1'],
  files: Object.values(FILES),
  async *measure(service, data) {
    const baseline = readWordWeights(data);
    yield* await judgeOpenai(service, data, baseline);
    yield* await judgeHatecheck(service, data, baseline);
    yield* await judgeXstest(service, data, baseline);
  },
});
