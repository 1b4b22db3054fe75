import { and, eq, sql as fragment, gte } from 'drizzle-orm';
import { promptModel } from '../chat/prompt-model.ts';
import type { ChatDeps } from '../chat/start-chat.ts';
import type { Sql } from '../db/db.ts';
import { chunks, documents } from '../knowledge-bases/documents/tables.ts';
import type { Call } from '../lib/caller.ts';
import { isRecord, parseJson } from '../lib/json.ts';
import { containsFact, normalizeTokens } from './evidence.ts';
import { isDeclined } from './measures.ts';
import type { Question } from './schema.ts';
import { type EvaluationResultRow, type EvaluationRow, insertQuestions } from './store.ts';

/** Shorter chunks are headings and fragments. */
const MIN_PASSAGE_CHARACTERS = 200;
const MAX_QUESTION_CHARACTERS = 500;
/** Longer answers are no facts, and equal none of another model. */
const MAX_ANSWER_CHARACTERS = 120;

const WRITE = [
  'Write one question that a reader of the handbook could ask and that the passage below answers.',
  'The reader does not see the passage: name what the question is about, and do not write "the passage" or "the text".',
  'Use other words than the passage where you can.',
  'The answer is a short phrase or number, copied from the passage letter by letter.',
].join(' ');
const ANSWER =
  'Answer the question from the passage below, briefly. If the passage does not answer it, say "not stated".';
const NOT_STATED = /\bnot stated\b/i;

const SCHEMA = {
  type: 'object',
  properties: { question: { type: 'string' }, answer: { type: 'string' } },
  required: ['question', 'answer'],
  additionalProperties: false,
} as const;

/** Inserts a question to generate for each of `count` chunks. Depends on the seed and the texts only. */
export async function sampleChunks(
  sql: Sql,
  { id, knowledgeBaseId, seed }: Pick<EvaluationRow, 'id' | 'knowledgeBaseId' | 'seed'>,
  count: number,
): Promise<void> {
  const isPassage = gte(fragment`length(${chunks.text})`, MIN_PASSAGE_CHARACTERS);
  const sampled = await sql
    .select({ chunkId: chunks.id })
    .from(chunks)
    .where(and(eq(chunks.knowledgeBaseId, knowledgeBaseId), isPassage))
    .orderBy(fragment`md5(${String(seed)} || ${chunks.text})`)
    .limit(count);
  await insertQuestions(
    sql,
    id,
    sampled.map(({ chunkId }) => ({ chunkId, question: null })),
  );
}

/**
 * Lets a model write a question for the chunk of the row, then answer it from the chunk alone. Drops questions without
 * a short answer that the chunk contains, and those that the model does not answer with it.
 */
export async function generateQuestion(
  deps: ChatDeps,
  call: Call,
  { row, evaluation }: { row: EvaluationResultRow; evaluation: EvaluationRow },
  signal: AbortSignal,
): Promise<{ question: Question } | { status: 'dropped' }> {
  const [chunk] = await deps.db.sql
    .select({ text: chunks.text, document: documents.name })
    .from(chunks)
    .innerJoin(documents, eq(documents.id, chunks.documentId))
    .where(eq(chunks.id, row.chunkId ?? ''));
  const model = evaluation.generate?.model;
  if (chunk === undefined || model === undefined) return { status: 'dropped' };
  const ask = (system: string, user: string, schema?: object) =>
    promptModel(deps, call, { model, seed: evaluation.seed, system, user, ...(schema && { schema }) }, signal);
  const written = parseQuestion(await ask(WRITE, `Passage:\n${chunk.text}`, SCHEMA), chunk.text);
  if (written === null) return { status: 'dropped' };
  const reply = await ask(ANSWER, `Passage:\n${chunk.text}\n\nQuestion: ${written.question}`);
  const isAnswered =
    containsFact(normalizeTokens(reply), written.answer) && !isDeclined(reply) && !NOT_STATED.test(reply);
  return isAnswered ? { question: { ...written, document: chunk.document } } : { status: 'dropped' };
}

/** The question that a model has written; null unless its answer is short, in the passage, and not in the question. */
export function parseQuestion(reply: string, passage: string): { question: string; answer: string } | null {
  const value = parseJson(reply);
  if (!isRecord(value) || typeof value['question'] !== 'string' || typeof value['answer'] !== 'string') return null;
  const [question, answer] = [value['question'].trim(), value['answer'].trim()];
  const isShort = question.length <= MAX_QUESTION_CHARACTERS && answer.length <= MAX_ANSWER_CHARACTERS;
  const fact = normalizeTokens(answer);
  if (!isShort || question === '' || fact.trim() === '') return null;
  if (/\bpassage\b|\bthe text\b/i.test(question) || normalizeTokens(question).includes(fact)) return null;
  return normalizeTokens(passage).includes(fact) ? { question, answer } : null;
}
