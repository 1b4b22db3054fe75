import { createReadStream, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type MetricTable, metricColumn } from '../../bench/harness/metric-table.ts';
import { chunkText } from '../../src/chunking/chunk-text.ts';
import { Extractor } from '../../src/extraction/extractor.ts';
import { type ContextChunk, SELECTIVE_SEARCH } from '../../src/knowledge-bases/grounding/gather-context.ts';
import { ANSWER_COLUMNS, CHUNKING, type Models, makeChunk, measureAnswers, plain, searchIn } from './quoted-answers.ts';

const HALVES = ['development', 'held-back', 'tuning'];
/** Ranks up to which the fact is looked for. */
const RANKS = [1, 5, 20];
const never = new AbortController().signal;

/** A question about a long document. An answer is right if it contains every text of one of `answers`. */
interface Question {
  document: string;
  kind: 'text' | 'table' | 'unanswerable';
  question: string;
  answers: string[][] | null;
}

/**
 * Answers from manuals of 30 to 320 pages: how often the hits contain the fact, and the answers of the bundled chat
 * model. The manuals of a half are one knowledge base. Returns null when `data` does not contain the manuals.
 */
export async function longDocumentTable(models: Models, data: string): Promise<MetricTable | null> {
  const folder = join(data, 'long-documents');
  if (!existsSync(folder)) return null;
  const extractor = new Extractor();
  try {
    const rows = [];
    for (const half of HALVES) {
      const questions = readQuestions(half);
      if (questions.every(({ document }) => existsSync(join(folder, document)))) {
        rows.push(await measureHalf(half, questions, { folder, extractor, models }));
      }
    }
    const columns = [...RANKS.map((rank) => metricColumn(`fact in first ${rank}`)), ...ANSWER_COLUMNS];
    return { title: 'Answers from long documents', subject: 'questions', columns, rows };
  } finally {
    await extractor.close();
  }
}

async function measureHalf(
  half: string,
  questions: readonly Question[],
  { folder, extractor, models }: { folder: string; extractor: Extractor; models: Models },
) {
  const chunks: ContextChunk[] = [];
  for (const document of new Set(questions.map((each) => each.document))) {
    chunks.push(...(await readChunks(join(folder, document), document, { extractor, models })));
  }
  const find = await searchIn(models, chunks, 'en');
  const cases = [];
  const ranks: number[] = [];
  for (const { question, answers } of questions) {
    const isRight =
      answers && ((text: string) => answers.some((parts) => parts.every((part) => plain(text).includes(part))));
    const hits = await find(question, Math.max(...RANKS));
    if (isRight !== null) ranks.push(hits.findIndex(({ text }) => isRight(text)));
    cases.push({ question, isRight, chunks: hits.slice(0, SELECTIVE_SEARCH.top_k) });
  }
  const shares = RANKS.map((rank) => ranks.filter((at) => at >= 0 && at < rank).length / ranks.length);
  const { name, cells } = await measureAnswers(half, cases, models);
  return { name, cells: [...shares, ...cells] };
}

function readQuestions(half: string): Question[] {
  const lines = readFileSync(join(import.meta.dirname, `../long-documents/${half}.jsonl`), 'utf8')
    .trim()
    .split('\n');
  return lines.map((line) => JSON.parse(line) as Question);
}

async function readChunks(
  path: string,
  name: string,
  { extractor, models }: { extractor: Extractor; models: Models },
): Promise<ContextChunk[]> {
  const file = { name, mediaType: null, content: createReadStream(path) };
  const countTokens = (texts: readonly string[]) => models.embedder.countTokens(texts, never);
  const chunks: ContextChunk[] = [];
  const { chunkSizeTokens } = CHUNKING;
  for await (const part of extractor.extract(file, { chunkSizeTokens }, never)) {
    if ('error' in part) throw part.error;
    const { document } = part;
    const spans = await chunkText(document, CHUNKING, { countTokens, embed: async () => [] }, never);
    for (const span of spans) {
      chunks.push(makeChunk(name, { ...span, text: document.text.slice(span.startIndex, span.endIndex) }));
    }
  }
  return chunks;
}
