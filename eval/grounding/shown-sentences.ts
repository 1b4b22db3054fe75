import { readGzipText, readJsonLines } from '../../bench/harness/data-set.ts';
import { type MetricTable, metricColumn } from '../../bench/harness/metric-table.ts';
import { mean } from '../../bench/harness/statistics.ts';
import type { EmbeddingEngine } from '../../src/engines/embedding-engine.ts';
import { DEFAULT_RERANK_SCORE_WEIGHTS, type RerankEngine } from '../../src/engines/rerank-engine.ts';
import { combineScores, wholeChunksWithin } from '../../src/knowledge-bases/grounding/fit-token-budget.ts';
import type { ContextChunk } from '../../src/knowledge-bases/grounding/gather-context.ts';
import { fenceTokens } from '../../src/knowledge-bases/grounding/render-context.ts';
import { listSentences, selectSentences } from '../../src/knowledge-bases/grounding/select-sentences.ts';
import { splitSentences } from '../../src/lib/sentences.ts';
import { bestOf, Searched } from './searched.ts';

export const QUESTION_FILE = 'chunking/questions.jsonl.gz';
const CORPORA = ['chatlogs', 'finance', 'pubmed', 'state_of_the_union', 'wikitexts'] as const;
/** Characters of a chunk: about 512 tokens. */
const CHUNK_CHARACTERS = 2_000;
/** Characters read per corpus, and questions per corpus. */
const MAX_CHARACTERS = 1_500_000;
const MAX_QUESTIONS = 40;
const CHUNKS = 10;
const BUDGETS = [250, 500, 1_000, 1_500, 2_000, 3_000, 4_000];
/** Minimum characters of a sentence in a gold span; a shorter one is a fragment. */
const LEAST_CHARACTERS = 16;

/** Recall of answering sentences in a prompt by token budget: whole chunks, and ranked sentences. */
export async function shownTable(
  embedder: EmbeddingEngine,
  reranker: RerankEngine,
  data: string,
): Promise<MetricTable> {
  const weights = reranker.weights ?? DEFAULT_RERANK_SCORE_WEIGHTS;
  const ways = { 'whole chunks': [] as number[][], 'ranked sentences': [] as number[][] };
  const rows = readJsonLines<{ corpus_id: string; question: string; references: { content: string }[] }>(
    data,
    QUESTION_FILE,
  );
  for (const corpus of CORPORA) {
    const content = readGzipText(data, `chunking/raw/corpora/${corpus}.md.gz`).slice(0, MAX_CHARACTERS);
    const search = await Searched.of(embedder, chunksOf(content), 'en');
    for (const { question, references } of rows.filter((row) => row.corpus_id === corpus).slice(0, MAX_QUESTIONS)) {
      const [scores = []] = await search.hybrid([question]);
      const chunks = bestOf(scores, CHUNKS).map((place) => chunkOf(search.texts[place] ?? '', scores[place] ?? 0));
      const sentences = listSentences(chunks, weights.maxSentences);
      const documents = sentences.map(({ text }) => text);
      const judged = await reranker.rerank({ query: question, documents }, new AbortController().signal);
      const ranks = combineScores(chunks, sentences, judged.scores, weights.chunkWeight);
      const gold = references.flatMap((reference) => piecesOf(reference.content));
      ways['whole chunks'].push(BUDGETS.map((budget) => partOf(gold, wholeChunksWithin(chunks, budget))));
      ways['ranked sentences'].push(
        BUDGETS.map((budget) =>
          partOf(gold, selectSentences(chunks, sentences, ranks, { budget, chunkCost: fenceTokens })),
        ),
      );
    }
  }
  return {
    title: `Sentences that answer, in the prompt (${ways['whole chunks'].length} questions)`,
    subject: 'tokens',
    columns: BUDGETS.map((budget) => metricColumn(String(budget))),
    rows: Object.entries(ways).flatMap(([name, parts]) => [
      { name, cells: BUDGETS.map((_, i) => mean(parts.map((part) => part[i] ?? 0))) },
      {
        name: `${name}: all of them`,
        cells: BUDGETS.map((_, i) => mean(parts.map((part) => (part[i] === 1 ? 1 : 0)))),
      },
    ]),
  };
}

/** Splits into chunks of whole sentences. */
function chunksOf(content: string): string[] {
  const spans: { start: number; end: number }[] = [];
  for (const { start, end } of splitSentences(content)) {
    const last = spans.at(-1);
    if (last !== undefined && end - last.start <= CHUNK_CHARACTERS) last.end = end;
    else spans.push({ start, end });
  }
  return spans.map(({ start, end }) => content.slice(start, end));
}

/** A chunk as grounding expects it. */
function chunkOf(text: string, score: number): ContextChunk {
  return { text, score, documentName: 'corpus.md', headingPath: [] as string[] } as ContextChunk;
}

function piecesOf(gold: string): string[] {
  const pieces = splitSentences(gold).map(({ start, end }) => plain(gold.slice(start, end)));
  return pieces.filter((piece) => piece.length >= LEAST_CHARACTERS);
}

function partOf(gold: readonly string[], shown: readonly ContextChunk[]): number {
  if (gold.length === 0) return 0;
  const all = plain(shown.map(({ text }) => text).join('\n'));
  return gold.filter((piece) => all.includes(piece)).length / gold.length;
}

const plain = (text: string): string => text.replace(/\s+/g, ' ');
