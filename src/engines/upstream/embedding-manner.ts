import { ApiError } from '../../errors.ts';
import { EMBEDDING_DIMENSIONS } from '../embedding-engine.ts';
import { readEmbeddings } from './embedding-answer.ts';
import { OtherDialect, type Question } from './question.ts';
import type { QuestionServer } from './question-server.ts';
import { TOKENIZE_DIALECTS, type TokenizeDialect } from './tokenize-dialects.ts';
import { isRecord } from './upstream-chunk.ts';

/** Embedded once, to learn how the server speaks and what it gives: no model finds it empty. */
const TRIAL = 'library';
/** Bytes of an answer: 32 vectors of 1,024 numbers have less than a megabyte, those of other models more. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
const MAX_INFO_BYTES = 64 * 1024;
const NO_INFO: ReadonlySet<number> = new Set([400, 401, 403, 404, 405, 415, 422, 501]);

/** The model is there, and is of no use here. */
export class UnfitModel extends Error {
  override readonly name = 'UnfitModel';
}

/** How a server is asked to embed, and what its model is. */
export interface EmbeddingManner {
  encoding: 'base64' | 'float';
  /** Whether vectors of the right length must be asked for: OpenAI's and Qwen's models have longer ones, made to be cut. */
  areCut: boolean;
  /** How it counts tokens; null where it does not. */
  tokenize: TokenizeDialect | null;
  /** Tokens that the model takes at once, with those that it adds itself; null where nobody says. */
  window: number | null;
}

/** How vectors are asked for. */
export type EmbeddingForm = Pick<EmbeddingManner, 'encoding' | 'areCut'>;

/** A question for the vectors of texts. */
export function embeddingQuestion(
  model: string,
  input: readonly string[],
  { encoding, areCut }: EmbeddingForm,
): Question {
  const dimensions = areCut ? { dimensions: EMBEDDING_DIMENSIONS } : {};
  return {
    endpoint: 'embeddings',
    body: JSON.stringify({ model, input, encoding_format: encoding, ...dimensions }),
    param: 'input',
    maxAnswerBytes: MAX_ANSWER_BYTES,
  };
}

/**
 * Learns how a server is asked: with the vector of one word, the tokens of one word, and what it says of itself. `window` is
 * the operator's word, which counts for more than the server's. Throws `UnfitModel` where its vectors are of another length,
 * and an `ApiError` where it does not answer.
 */
export async function learnManner(
  server: QuestionServer,
  window: number | null,
  signal: AbortSignal,
): Promise<EmbeddingManner> {
  const form = await learnForm(server, signal);
  const counted = await learnTokenize(server, signal);
  return {
    ...form,
    tokenize: counted?.dialect ?? null,
    window: window ?? counted?.window ?? (await toldWindow(server, signal)),
  };
}

async function learnForm(server: QuestionServer, signal: AbortSignal): Promise<EmbeddingForm> {
  const floatsOf = async (form: EmbeddingForm) => {
    const question = embeddingQuestion(server.model, [TRIAL], form);
    const { vectors } = await server.ask(question, (answer) => readEmbeddings(answer, 1), signal);
    return vectors[0]?.length ?? 0;
  };
  let encoding: EmbeddingForm['encoding'] = 'base64';
  let floats = await floatsOf({ encoding, areCut: false }).catch(passRefusal);
  if (floats === null) {
    encoding = 'float';
    floats = await floatsOf({ encoding, areCut: false });
  }
  if (floats === EMBEDDING_DIMENSIONS) return { encoding, areCut: false };
  const cut = floats > EMBEDDING_DIMENSIONS ? await floatsOf({ encoding, areCut: true }).catch(passRefusal) : null;
  if (cut === EMBEDDING_DIMENSIONS) return { encoding, areCut: true };
  throw new UnfitModel(
    `'${server.model}' gives vectors of ${floats} floats; Quire works with ${EMBEDDING_DIMENSIONS}.`,
  );
}

/** Null for a question that the server does not take as it was asked. */
function passRefusal(error: unknown): null {
  if (error instanceof ApiError && error.status === 400) return null;
  throw error;
}

async function learnTokenize(
  server: QuestionServer,
  signal: AbortSignal,
): Promise<{ dialect: TokenizeDialect; window: number | null } | null> {
  for (const dialect of TOKENIZE_DIALECTS) {
    const read = (answer: unknown) => {
      try {
        const { counts, window } = dialect.read(answer, 1);
        return (counts[0] ?? 0) > 0 ? { dialect, window } : null;
      } catch {
        // Another kind of server answers in another form.
        return null;
      }
    };
    try {
      const learned = await server.ask(dialect.question(server.model, [TRIAL]), read, signal);
      if (learned !== null) return learned;
    } catch (error) {
      if (!(error instanceof OtherDialect)) throw error;
    }
  }
  return null;
}

/** What Text Embeddings Inference says of its model. */
async function toldWindow(server: QuestionServer, signal: AbortSignal): Promise<number | null> {
  const question = { endpoint: 'info', body: null, param: 'input', maxAnswerBytes: MAX_INFO_BYTES } as const;
  const read = (info: unknown) => {
    const told = isRecord(info) ? info['max_input_length'] : null;
    return typeof told === 'number' && Number.isInteger(told) && told > 0 ? told : null;
  };
  try {
    return await server.ask({ ...question, otherDialect: NO_INFO }, read, signal);
  } catch (error) {
    signal.throwIfAborted();
    // Servers answer paths that they do not have in many ways; they have embedded already.
    if (error instanceof OtherDialect || error instanceof ApiError) return null;
    throw error;
  }
}
