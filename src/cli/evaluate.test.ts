import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it, mock } from 'node:test';
import { bundledEmbedder, embeddedBy } from '../../test/embedder.ts';
import { useApi } from '../../test/harness.ts';
import { ingestInMemory } from '../../test/ingestion.ts';
import { stream, words } from '../../test/scripted-engine.ts';
import { RUN_EVALUATION } from '../evaluations/evaluation-job.ts';
import { runEvaluation } from '../evaluations/run-evaluation.ts';
import { main } from '../main.ts';

describe('quire kb eval', () => {
  const embedder = bundledEmbedder();
  const api = useApi({ ...embeddedBy(embedder), jobs: [RUN_EVALUATION] });
  const folder = mkdtempSync(join(tmpdir(), 'quire-eval-'));
  const path = join(folder, 'questions.jsonl');
  const questions = Array.from({ length: 10 }, (_, i) => ({
    question: `When does the library in Ashford open, question ${i}?`,
    answer: 'nine',
  }));
  before(async () => {
    const { run, queueJob } = await ingestInMemory(api, { library: 'The library in Ashford opens at nine.' });
    await run(await queueJob());
    api.deps.jobs.work(RUN_EVALUATION, ({ evaluationId }, signal) => runEvaluation(api.deps, evaluationId, signal));
    process.env['QUIRE_URL'] = api.url;
    process.env['QUIRE_API_KEY'] = api.key;
  });
  after(async () => {
    rmSync(folder, { recursive: true, force: true });
    await embedder.close();
  });
  beforeEach(() => {
    writeFileSync(path, questions.map((question) => JSON.stringify(question)).join('\n\n'));
    api.engine.play(() => stream(words('The library in Ashford opens at nine.')));
  });

  /** Runs the command in this process. */
  const run = async (...args: string[]) => {
    const written: string[] = [];
    const printed: string[] = [];
    mock.method(console, 'log', (text: string) => printed.push(text));
    mock.method(console, 'error', (text: string) => written.push(text));
    mock.method(process.stderr, 'write', (text: string) => {
      written.push(text);
      return true;
    });
    const code = await main(['kb', 'eval', 'Base', ...args]);
    mock.restoreAll();
    return { code, stdout: printed.join('\n'), stderr: written.join('\n') };
  };

  it('shows progress and the measures, and passes a threshold that is reached', async () => {
    const { code, stdout, stderr } = await run(
      '--questions',
      path,
      '--fail-below',
      'recall@5=1',
      '--fail-below',
      'mrr=0.9',
    );
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^Evaluation eval_\w+: completed, 10 of 10 questions completed\./);
    assert.match(stdout, /recall@5 +1\.000 +10\n[\s\S]*answers_correct +1\.000/);
    assert.match(stdout, /Median duration: retrieval \d+ ms.*\nCost: [\d.]+ credits\.$/);
    assert.match(stderr, /10\/10 completed/);
  });

  it('prints one JSON document with the results', async () => {
    const { stdout } = await run('--questions', path, '--retrieval-only', '--json');
    const { results, summary } = JSON.parse(stdout);
    assert.deepEqual([results.length, results[0].answer, summary.measures[0].name], [10, null, 'recall@1']);
  });

  it('evaluates the configuration of its options, and rejects an invalid weight', async () => {
    const options = ['--search', 'hybrid', '--hybrid-weight', '.25', '--top-k', '3'];
    const { stdout } = await run('--questions', path, '--retrieval-only', '--json', ...options);
    assert.deepEqual(JSON.parse(stdout).configuration, {
      search_type: 'hybrid',
      hybrid_weight: 0.25,
      top_k: 3,
    });
    for (const weight of ['1.5', '-1', 'x', '']) {
      const { code, stderr } = await run('--questions', path, `--hybrid-weight=${weight}`);
      assert.deepEqual([code, /Expected a number from 0 to 1/.test(stderr)], [2, true], weight);
    }
  });

  it('lets a judge model score the answers, and says when the baseline has no scores', async () => {
    const { id } = JSON.parse((await run('--questions', path, '--json')).stdout);
    api.engine.play(({ prompt }) => {
      const text = prompt.kind === 'chat' ? String(prompt.messages.at(-1)?.content) : '';
      const verdict = text.includes('question 0?') ? 'none' : 'wrong';
      return stream(words(text.startsWith('{') ? JSON.stringify({ reason: 'No.', verdict }) : 'It opens at nine.'));
    });
    const judge = ['--judge', 'general-70b', '--fail-above', 'judge_failed=0.05'];
    const { code, stdout, stderr } = await run('--questions', path, '--baseline', id, ...judge);
    assert.match(stdout, /judge_wrong +0\.900 +10\njudge_declined +0\.000 +10\njudge_failed +0\.100 +10\n/);
    assert.match(stdout, /Answers scored by general-70b\.\n.*The baseline was not scored by a judge model/);
    assert.deepEqual([code, /judge_failed is 0\.100, above 0\.05/.test(stderr)], [1, true], stderr);
    const only = await run('--questions', path, '--retrieval-only', ...judge);
    assert.deepEqual([only.code, /leave --retrieval-only out/.test(only.stderr)], [1, true]);
  });

  it('exits with 1 below or above a threshold, and for a measure without questions', async () => {
    const args = [
      '--fail-below',
      'refusals_correct=0.5',
      '--fail-above',
      'answers_correct=.9',
      '--fail-above',
      'mrr=1',
    ];
    const { code, stderr } = await run('--questions', path, ...args);
    assert.equal(code, 1);
    assert.match(stderr, /refusals_correct was not measured; answers_correct is 1\.000, above 0\.9\./);
  });

  it('compares with a baseline, and exits with 1 when it is worse', async () => {
    const { id } = JSON.parse((await run('--questions', path, '--json')).stdout);
    api.engine.play(() => stream(words('I could not find that in the documents.')));
    const { code, stdout, stderr } = await run('--questions', path, '--baseline', id);
    assert.equal(code, 1);
    assert.match(stdout, /answers_correct +0\.000 +10 +1\.000 +-1\.000 \(-1\.000 to -1\.000\) +worse/);
    assert.match(stderr, /worse than in the baseline/);
  });

  it('names the line that is not JSON, the missing file, and a wrong threshold', async () => {
    writeFileSync(path, '{"question": "When?", "answer": "nine"}\n\n{"question"\n');
    assert.match((await run('--questions', path)).stderr, /questions\.jsonl: line 3 is not JSON/);
    assert.match((await run('--questions', join(folder, 'none'))).stderr, /none: /);
    assert.match((await run()).stderr, /--questions FILE or --generate COUNT/);
    const { code, stderr } = await run('--questions', path, '--fail-below', 'recall@5');
    assert.equal(code, 2);
    assert.match(stderr, /recall@5=0\.8/);
  });
});
