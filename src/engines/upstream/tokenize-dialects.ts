import type { JsonRequest } from './json-request.ts';
import { isRecord } from './upstream-chunk.ts';

/** Token counts of the texts asked about, and the model's window where the server tells it with them. */
export interface Tokenized {
  counts: number[];
  window: number | null;
}

/** One of the ways in which servers count tokens. */
export interface TokenizeDialect {
  /** Texts of one question. */
  maxTexts: number;
  jsonRequest(model: string, texts: readonly string[]): JsonRequest;
  /** Without what the model adds itself. Throws an Error where the answer is of another kind. */
  read(answer: unknown, count: number): Tokenized;
}

/** Bytes of an answer: TEI tells each token with its text and place. */
const MAX_RESPONSE_BYTES = 64 * 1024 * 1024;
/** What a server answers that has no such path, or that misses a field which only another kind has. */
const OTHER_DIALECT: ReadonlySet<number> = new Set([400, 404, 405, 415, 422, 501]);

function jsonRequest(body: object): JsonRequest {
  return {
    endpoint: 'tokenize',
    body: JSON.stringify(body),
    param: 'input',
    maxResponseBytes: MAX_RESPONSE_BYTES,
    otherDialect: OTHER_DIALECT,
  };
}

/** Text Embeddings Inference: a list of tokens for each text. */
const TEXTS: TokenizeDialect = {
  maxTexts: 32,
  jsonRequest: (_model, texts) => jsonRequest({ inputs: texts, add_special_tokens: false }),
  read(answer, count) {
    if (!Array.isArray(answer) || answer.length !== count || !answer.every(Array.isArray)) {
      throw new Error('the answer is no list of lists of tokens');
    }
    const isOwn = (token: unknown) => !isRecord(token) || token['special'] !== true;
    return { counts: answer.map((tokens: unknown[]) => tokens.filter(isOwn).length), window: null };
  },
};

/** vLLM and SGLang: a count, and the window. */
const PROMPT: TokenizeDialect = {
  maxTexts: 1,
  jsonRequest: (model, [text]) => jsonRequest({ model, prompt: text, add_special_tokens: false }),
  read(answer) {
    const count = isRecord(answer) ? answer['count'] : null;
    if (!isRecord(answer) || !isCount(count)) throw new Error('the answer has no count');
    const window = answer['max_model_len'];
    return { counts: [count], window: isCount(window) && window > 0 ? window : null };
  },
};

/** llama-server: the tokens alone. Without `content` it gives none, so that a word with tokens tells it. */
const CONTENT: TokenizeDialect = {
  maxTexts: 1,
  jsonRequest: (_model, [text]) => jsonRequest({ content: text, add_special: false }),
  read(answer) {
    const tokens = isRecord(answer) ? answer['tokens'] : null;
    if (!Array.isArray(tokens)) throw new Error('the answer has no tokens');
    return { counts: [tokens.length], window: null };
  },
};

/** In the order in which a server is tried. */
export const TOKENIZE_DIALECTS: readonly TokenizeDialect[] = [TEXTS, PROMPT, CONTENT];

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0;
}
