import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findAnswer, NO_ANSWER_TEXT } from '@quire/bundled-models';
import { showProgress } from '../../bench/harness/command.ts';
import { readJsonLines } from '../../bench/harness/data-set.ts';
import { countColumn, type MetricRow, type MetricTable, metricColumn } from '../../bench/harness/metric-table.ts';
import { chunkText } from '../../src/chunking/chunk-text.ts';
import { answerServices } from '../../src/engines/bundled/bundled-chat.ts';
import type { EmbeddingEngine } from '../../src/engines/embedding-engine.ts';
import type { RerankEngine } from '../../src/engines/rerank-engine.ts';
import { parseMarkdown } from '../../src/extraction/read-markdown.ts';
import { type ContextChunk, SELECTIVE_SEARCH } from '../../src/knowledge-bases/grounding/gather-context.ts';
import { toJoinedDocuments } from '../../src/knowledge-bases/grounding/prompt-documents.ts';
import type { Language } from '../../src/search/languages.ts';
import { CODES, xquadOf } from './paired-questions.ts';
import { Searched } from './searched.ts';

const MANUALS = join(import.meta.dirname, '../manuals');
const DOCS = join(import.meta.dirname, '../../docs/use');
/** Questions of XQuAD for each language, half of them without the paragraph that answers. */
const XQUAD_QUESTIONS = 150;
const STEMMED: ReadonlySet<string> = new Set(['en', 'de', 'es', 'ro', 'ru', 'tr', 'ar']);
/** Default chunking of knowledge bases. */
export const CHUNKING = { type: 'recursive', chunkSizeTokens: 512, chunkOverlapTokens: 64 } as const;
const never = new AbortController().signal;

/** A question with the chunks that the search returns for it. */
export interface Case {
  question: string;
  /** Whether a text contains the answer; null when no document does. */
  isRight: ((text: string) => boolean) | null;
  chunks: readonly ContextChunk[];
}

/** The engines of the evaluation. */
export interface Models {
  embedder: EmbeddingEngine;
  reranker: RerankEngine;
}

/**
 * Answers of the bundled chat model from manuals, from Quire's own docs, and from XQuAD's paragraphs in twelve
 * languages.
 */
export async function quotedTable(models: Models, data: string): Promise<MetricTable> {
  const rows: MetricRow[] = [];
  for (const name of ['development', 'held-back', 'quire-docs']) {
    rows.push(await measureAnswers(name, await manualCases(models, name), models));
  }
  for (const [done, code] of CODES.entries()) {
    for (const half of [0, 1]) {
      const name = `XQuAD ${code}, ${half === 0 ? 'development' : 'report'}`;
      rows.push(await measureAnswers(name, await xquadCases(models, data, { code, half }), models));
    }
    showProgress(done + 1, CODES.length, 'quoted answers');
  }
  return {
    title: 'Answers from knowledge bases',
    subject: 'questions',
    columns: ANSWER_COLUMNS,
    rows,
  };
}

/** Columns of `measureAnswers`. */
export const ANSWER_COLUMNS = [
  countColumn('answerable'),
  metricColumn('right'),
  metricColumn('wrong'),
  metricColumn('declined, closest right'),
  countColumn('unanswerable'),
  metricColumn('declined'),
];

/** Answers the questions with the bundled chat model's selection. Returns a row of `ANSWER_COLUMNS`. */
export async function measureAnswers(name: string, cases: readonly Case[], { reranker }: Models): Promise<MetricRow> {
  const counts = { answerable: 0, right: 0, wrong: 0, closest: 0, unanswerable: 0, declined: 0 };
  for (const { question, isRight, chunks } of cases) {
    const context = { question, previousQuestion: '', fallback: null, isCertain: true, isSearched: true };
    const { answer } = await findAnswer(
      { ...context, passages: toJoinedDocuments(chunks) },
      answerServices(reranker),
      never,
    );
    const isDeclined = answer === null || answer.startsWith(NO_ANSWER_TEXT);
    counts[isRight === null ? 'unanswerable' : 'answerable'] += 1;
    if (isRight === null) counts.declined += isDeclined ? 1 : 0;
    else if (!isDeclined) counts[isRight(answer) ? 'right' : 'wrong'] += 1;
    else if (answer !== null && isRight(answer)) counts.closest += 1;
  }
  const { answerable, right, wrong, closest, unanswerable, declined } = counts;
  const share = (count: number, all: number): number | null => (all === 0 ? null : count / all);
  return {
    name,
    cells: [
      answerable,
      share(right, answerable),
      share(wrong, answerable),
      share(closest, answerable),
      unanswerable,
      share(declined, unanswerable),
    ],
  };
}

/** The questions of a folder of `eval/manuals`. All manuals of the folder are one knowledge base. */
async function manualCases(models: Models, name: string): Promise<Case[]> {
  const folder = name === 'quire-docs' ? DOCS : join(MANUALS, name);
  const countTokens = (texts: readonly string[]) => models.embedder.countTokens(texts, never);
  const chunks: ContextChunk[] = [];
  for (const file of readdirSync(folder).filter((entry) => entry.endsWith('.md'))) {
    const document = parseMarkdown(readFileSync(join(folder, file), 'utf8'));
    const cut = await chunkText(document, CHUNKING, { countTokens, embed: async () => [] }, never);
    chunks.push(
      ...cut.map((chunk) => makeChunk(file, { ...chunk, text: document.text.slice(chunk.startIndex, chunk.endIndex) })),
    );
  }
  const find = await searchIn(models, chunks, 'en');
  const cases: Case[] = [];
  for (const { question, answer } of readQuestions(name)) {
    const isRight = answer && ((text: string) => answer.every((part) => plain(text).includes(plain(part))));
    cases.push({ question, isRight, chunks: (await find(question)).slice(0, SELECTIVE_SEARCH.top_k) });
  }
  return cases;
}

function readQuestions(name: string): { question: string; answer: string[] | null }[] {
  const lines = readFileSync(join(MANUALS, name, 'questions.jsonl'), 'utf8')
    .trim()
    .split('\n');
  return lines.map((line) => JSON.parse(line));
}

/** Every other question of XQuAD, each with its paragraph among those found, and without it. */
async function xquadCases(
  models: Models,
  data: string,
  { code, half }: { code: (typeof CODES)[number]; half: number },
): Promise<Case[]> {
  const { documents, queries, gains } = xquadOf(code).read(data);
  const rows = readJsonLines<{ metadata: { answers: string[] } }>(data, `retrieval/xquad_${code}/queries.jsonl.gz`);
  const chunks = documents.map((text, i) => makeChunk(`${i}.txt`, { text, startIndex: 0, endIndex: text.length }));
  const find = await searchIn(models, chunks, STEMMED.has(code) ? (code as Language) : 'none');
  const own = [...queries.keys()].filter((index) => index % 2 === half);
  const cases: Case[] = [];
  for (let i = 0; i < XQUAD_QUESTIONS; i++) {
    const index = own[Math.floor((i * own.length) / XQUAD_QUESTIONS)] as number;
    const question = queries[index] ?? '';
    const [gold = -1] = gains[index]?.keys() ?? [];
    const answers = rows[index]?.metadata.answers ?? [];
    const found = await find(question);
    const isRight = (text: string) => answers.some((answer) => text.includes(answer));
    cases.push({ question, isRight, chunks: found.slice(0, SELECTIVE_SEARCH.top_k) });
    const others = found.filter(({ documentId }) => documentId !== `${gold}.txt`).slice(0, SELECTIVE_SEARCH.top_k);
    cases.push({ question, isRight: null, chunks: others });
  }
  return cases;
}

/** A chunk as grounding gets it. */
export function makeChunk(
  documentId: string,
  chunk: Pick<ContextChunk, 'text' | 'startIndex' | 'endIndex'> & Partial<ContextChunk>,
): ContextChunk {
  const fields = { headingPath: [] as string[], metadata: {}, updatedAt: 0, documentId, documentName: documentId };
  return { ...fields, storedText: chunk.text, ...chunk } as ContextChunk;
}

/** Returns a search by the settings of chats. By default it returns one hit more than a chat gets. */
export async function searchIn({ embedder }: Models, chunks: readonly ContextChunk[], language: Language) {
  const texts = chunks.map(({ text }) => text);
  const search = await Searched.of(embedder, texts, language);
  return async (question: string, count = SELECTIVE_SEARCH.top_k + 1): Promise<ContextChunk[]> => {
    const ranked = await search.byPassages(question, count);
    return ranked.map(({ at, score }) => ({ ...(chunks[at] as ContextChunk), score }));
  };
}

/** Text without line breaks and quote marks. */
export const plain = (text: string): string => text.replace(/^> ?/gm, '').replace(/\s+/g, ' ');
