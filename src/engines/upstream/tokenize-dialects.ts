import { isRecord } from '../../lib/json.ts';
import type { JsonRequest } from './json-request.ts';

/** Token counts of texts, and the model's window if the server reports it. */
export interface Tokenized {
  counts: number[];
  window: number | null;
}

/** A request format of tokenizer endpoints. */
export interface TokenizeDialect {
  /** Texts per request. */
  maxTexts: number;
  jsonRequest(model: string, texts: readonly string[]): JsonRequest;
  /** Counts without special tokens. Throws an Error for a response of another kind. */
  read(response: unknown, count: number): Tokenized;
}

/** Maximum bytes of a response: TEI returns each token with its text and offsets. */
const MAX_RESPONSE_BYTES = 64 * 1024 * 1024;
/** Statuses of servers without this path, or without a field that only another dialect has. */
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

/** Text Embeddings Inference: a list of tokens per text. */
const TEXTS: TokenizeDialect = {
  maxTexts: 32,
  jsonRequest: (_model, texts) => jsonRequest({ inputs: texts, add_special_tokens: false }),
  read(response, count) {
    if (!Array.isArray(response) || response.length !== count || !response.every(Array.isArray)) {
      throw new Error('the response is not a list of token lists');
    }
    const isOwn = (token: unknown) => !isRecord(token) || token['special'] !== true;
    return { counts: response.map((tokens: unknown[]) => tokens.filter(isOwn).length), window: null };
  },
};

/** vLLM and SGLang: a count, and the window. */
const PROMPT: TokenizeDialect = {
  maxTexts: 1,
  jsonRequest: (model, [text]) => jsonRequest({ model, prompt: text, add_special_tokens: false }),
  read(response) {
    const count = isRecord(response) ? response['count'] : null;
    if (!isRecord(response) || !isCount(count)) throw new Error('the response has no count');
    const window = response['max_model_len'];
    return { counts: [count], window: isCount(window) && window > 0 ? window : null };
  },
};

/** llama-server: only the tokens. Without `content` it returns none, so a word with tokens identifies it. */
const CONTENT: TokenizeDialect = {
  maxTexts: 1,
  jsonRequest: (_model, [text]) => jsonRequest({ content: text, add_special: false }),
  read(response) {
    const tokens = isRecord(response) ? response['tokens'] : null;
    if (!Array.isArray(tokens)) throw new Error('the response has no tokens');
    return { counts: [tokens.length], window: null };
  },
};

/** In the order in which they are tried. */
export const TOKENIZE_DIALECTS: readonly TokenizeDialect[] = [TEXTS, PROMPT, CONTENT];

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0;
}
