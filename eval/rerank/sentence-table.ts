import { showProgress } from '../../bench/harness/command.ts';
import { countColumn, type MetricRow, type MetricTable, metricColumn } from '../../bench/harness/metric-table.ts';
import type { ServiceClient } from '../../bench/harness/service-client.ts';
import { mean } from '../../bench/harness/statistics.ts';
import { Bm25 } from '../keyword/bm25.ts';
import { best, reciprocalRank } from '../measures/ranking.ts';
import { dot, embedTexts } from '../retrieval/embedding-client.ts';
import { fused } from '../retrieval/search.ts';
import { requestScores } from './rerank-client.ts';
import { qedTasks, type SentenceTask, squadTasks } from './sentences.ts';

const WAYS = ['BM25', 'vectors', 'hybrid', 'reranked'] as const;

/** Accuracy at 1 and MRR of the answering sentence by ranking method. */
export async function sentenceTable(service: ServiceClient, data: string): Promise<MetricTable> {
  const rows = [
    await measured(service, 'SQuAD, held back, 1 of 25', squadTasks(data)),
    await measured(service, 'QED, sentences of 5 passages', qedTasks(data)),
  ];
  const measures = ['first', 'MRR'].flatMap((measure) => WAYS.map((way) => `${way} ${measure}`));
  return {
    title: 'The sentence that answers',
    subject: 'set',
    columns: [countColumn('questions'), ...measures.map(metricColumn)],
    rows,
  };
}

async function measured(service: ServiceClient, name: string, tasks: readonly SentenceTask[]): Promise<MetricRow> {
  const texts = [...new Set(tasks.flatMap(({ sentences }) => sentences))];
  const places = new Map(texts.map((text, place) => [text, place]));
  const index = new Bm25(texts);
  const vectors = await embedTexts(service, texts, `${name}, sentences`);
  const asked = await embedTexts(
    service,
    tasks.map(({ question }) => question),
    `${name}, questions`,
  );
  const ranks: number[][] = [];
  for (const [at, { question, sentences, right }] of tasks.entries()) {
    const own = sentences.map((sentence) => places.get(sentence) ?? -1);
    const keyword = index.scores(question);
    const vector = asked[at] ?? new Float32Array();
    const words = own.map((place) => keyword[place] ?? 0);
    const cosines = own.map((place) => dot(vector, vectors[place] ?? vector));
    const both = cosines.map((cosine, i) => fused(cosine, words[i] ?? 0));
    const ways = [words, cosines, both, await requestScores(service, question, sentences)];
    ranks.push(ways.map((scores) => reciprocalRank(best(scores, sentences.length), new Map([[right, 1]]))));
    showProgress(at + 1, tasks.length, `${name}, reranking`);
  }
  const ofWay = (way: number): number[] => ranks.map((own) => own[way] ?? Number.NaN);
  const first = WAYS.map((_, way) => mean(ofWay(way).map((rank) => (rank === 1 ? 1 : 0))));
  return { name, cells: [tasks.length, ...first, ...WAYS.map((_, way) => mean(ofWay(way)))] };
}
