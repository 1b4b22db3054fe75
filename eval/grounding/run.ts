import { parseArgs } from 'node:util';
import { BUNDLED_MODELS } from '@quire/bundled-models';
import { runCommand } from '../../bench/harness/command.ts';
import { requireDataFiles } from '../../bench/harness/data-set.ts';
import { type MetricTable, renderMetricTable } from '../../bench/harness/metric-table.ts';
import { createBundledEmbedding } from '../../src/engines/bundled/bundled-embedding.ts';
import { createBundledRerank } from '../../src/engines/bundled/bundled-rerank.ts';
import { attributionTable, SPLIT_FILE } from './attribution-table.ts';
import { followUpTable } from './follow-up-table.ts';
import { longDocumentTable } from './long-documents.ts';
import { CODES, xquadOf } from './paired-questions.ts';
import { quotedTable } from './quoted-answers.ts';
import { QUESTION_FILE, shownTable } from './shown-sentences.ts';

async function main(): Promise<void> {
  const { values: flags } = parseArgs({ options: { data: { type: 'string' } } });
  const data = requireDataFiles(flags.data, [
    QUESTION_FILE,
    SPLIT_FILE,
    ...CODES.flatMap((code) => xquadOf(code).files),
  ]);
  const embedder = createBundledEmbedding(BUNDLED_MODELS.embedding);
  const reranker = createBundledRerank(BUNDLED_MODELS.rerank);
  const say = (table: MetricTable): boolean => process.stdout.write(`${renderMetricTable(table)}\n\n`);
  try {
    const long = await longDocumentTable({ embedder, reranker }, data);
    if (long !== null) say(long);
    say(await quotedTable({ embedder, reranker }, data));
    say(await shownTable(embedder, reranker, data));
    say(attributionTable(data));
    say(await followUpTable(embedder, data));
  } finally {
    await Promise.all([embedder.close(), reranker.close()]);
  }
}

await runCommand(main);
