import { showProgress } from '../../bench/harness/command.ts';
import { readGzipText, readJsonLines } from '../../bench/harness/data-set.ts';
import { countColumn, type MetricRow, type MetricTable, metricColumn } from '../../bench/harness/metric-table.ts';
import type { ServiceClient } from '../../bench/harness/service-client.ts';
import { mean } from '../../bench/harness/statistics.ts';
import { EvaluatedBase, type FoundChunk } from './knowledge-base.ts';

/** Chunks per question, as in the paper. */
const FOUND = 5;
const CORPORA = ['chatlogs', 'finance', 'pubmed', 'state_of_the_union', 'wikitexts'] as const;
const STRATEGIES = ['fixed_size', 'recursive', 'semantic'];
const SIZES = [128, 256, 512];

interface Question {
  corpus_id: string;
  question: string;
  references: Span[];
}

interface Span {
  start_index: number;
  end_index: number;
}

/**
 * How much of the text that answers a question is in the five chunks that hybrid search finds (recall), how much of the
 * chunks it is (precision), and both together (IoU), by characters (B. Smith and A. Troynikov, "Evaluating Chunking
 * Strategies for Retrieval", 2024).
 */
export async function chunkingTable(service: ServiceClient, data: string): Promise<MetricTable> {
  const questions = readJsonLines<Question>(data, 'chunking/questions.jsonl.gz');
  const rows: MetricRow[] = [];
  for (const chunk_size of SIZES) {
    for (const type of STRATEGIES) {
      for (const chunk_overlap of [0, chunk_size / 8]) {
        const chunking = { type, chunk_size, chunk_overlap };
        const cells = await measured(service, data, { questions, chunking });
        rows.push({ name: `${type} ${chunk_size}/${chunk_overlap}`, cells });
      }
    }
  }
  return {
    title: 'Chunking',
    subject: 'strategy',
    columns: [countColumn('chunks'), ...['recall', 'precision', 'IoU'].map(metricColumn)],
    rows,
  };
}

async function measured(
  service: ServiceClient,
  data: string,
  {
    questions,
    chunking,
  }: { questions: readonly Question[]; chunking: { type: string; chunk_size: number; chunk_overlap: number } },
): Promise<number[]> {
  const figures: { recall: number; precision: number; union: number }[] = [];
  let chunks = 0;
  for (const corpus of CORPORA) {
    const content = readGzipText(data, `chunking/raw/corpora/${corpus}.md.gz`);
    const base = await EvaluatedBase.fill(service, [{ name: `${corpus}.md`, content }], chunking);
    chunks += await base.chunkCount();
    for (const { question, references } of questions.filter(({ corpus_id }) => corpus_id === corpus)) {
      const found = await base.retrieve(question, FOUND, { search_type: 'hybrid' });
      figures.push(overlapOf(content, found, references));
      showProgress(figures.length, questions.length, `${chunking.type} ${chunking.chunk_size}`);
    }
  }
  return [
    chunks,
    ...(['recall', 'precision', 'union'] as const).map((name) => mean(figures.map((figure) => figure[name]))),
  ];
}

function overlapOf(content: string, found: readonly FoundChunk[], references: readonly Span[]) {
  const gold = references.map(({ start_index, end_index }) => utf16Span(content, start_index, end_index));
  const spans = found.map(({ metadata }) => [Number(metadata['start_index']), Number(metadata['end_index'])] as const);
  const total = spans.reduce((sum, [start, end]) => sum + end - start, 0);
  let wanted = 0;
  let hit = 0;
  for (const [start, end] of gold) {
    wanted += end - start;
    let covered = start;
    for (const [from, to] of spans.toSorted((a, b) => a[0] - b[0])) {
      const begin = Math.max(from, covered);
      const stop = Math.min(to, end);
      if (stop <= begin) continue;
      hit += stop - begin;
      covered = stop;
    }
  }
  return { recall: hit / wanted, precision: total === 0 ? 0 : hit / total, union: hit / (total + wanted - hit) };
}

/** Offsets of the questions count code points, not UTF-16 units. */
function utf16Span(content: string, start: number, end: number): readonly [number, number] {
  if (!/[\ud800-\udbff]/.test(content)) return [start, end];
  const characters = Array.from(content);
  const before = characters.slice(0, start).join('').length;
  return [before, before + characters.slice(start, end).join('').length];
}
