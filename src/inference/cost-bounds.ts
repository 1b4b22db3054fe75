import { affordableTokens, costMicros } from '../billing/price.ts';
import type { ChatPrompt, TemplateInput, TextPrompt } from '../engines/engine.ts';
import { countImages, MAX_IMAGE_TOKENS } from '../engines/prompt-images.ts';
import { knownContextTokens, type ModelView } from '../engines/registry.ts';
import { unknownTemplateTokens } from '../engines/template-tokens.ts';
import type { Call } from '../lib/caller.ts';
import type { CostBounds } from '../lib/reservation.ts';

/** Tokens that the template adds to each document. */
const DOCUMENT_TOKENS = 16;
/** Special tokens that tokenizers add to a text. */
const SPECIAL_TOKENS = 8;
/** Encoders read long texts in windows, which overlap or have a prefix: at most a quarter of a window each. */
const WINDOWS_FACTOR = 2;
/** Tokens that rerankers add to a query with a document: special tokens, or an instruction. */
const PAIR_TOKENS = 128;
/** Windows of a document overlap, and each is read with the query, up to half of a window, and the instruction. */
const RERANK_FACTOR = 4;

/** Upper bounds of the tokens of a call. */
export interface TokenBounds {
  promptTokens: number;
  /** Choices with their output limit each; null: the call has no output. */
  output: { choices: number; maxTokens: number } | null;
}

/** Bounds of a generation. */
export function generationBounds(
  model: ModelView,
  request: Omit<TemplateInput, 'prompt'> & {
    prompt: ChatPrompt | TextPrompt;
    choices: number;
    maxTokens: number | null;
  },
): TokenBounds {
  const { prompt, choices, maxTokens } = request;
  const contextTokens = knownContextTokens(model) ?? Number.MAX_SAFE_INTEGER;
  const promptTokens =
    prompt.kind === 'chat' ? chatTokens(model, { ...request, prompt }) : textTokens(prompt.text, prompt.suffix ?? '');
  return {
    promptTokens: Math.min(contextTokens, promptTokens),
    output: { choices, maxTokens: Math.min(contextTokens, maxTokens ?? contextTokens) },
  };
}

function chatTokens({ engine }: ModelView, request: TemplateInput): number {
  const { messages, tools, documents = [] } = request.prompt;
  const templateTokens = engine?.features().templateTokens?.(request) ?? null;
  let tokens = (templateTokens ?? unknownTemplateTokens(messages)) + countImages(messages) * MAX_IMAGE_TOKENS;
  // A server that describes the format does so in the prompt.
  if (templateTokens === null && request.format.type === 'json_schema')
    tokens += countJsonTokens([request.format.schema]);
  for (const { content, name, tool_calls: calls, tool_call_id: id } of messages) {
    tokens += countTokens(content ?? '') + countTokens(name ?? '') + countTokens(id ?? '') + countJsonTokens(calls);
  }
  for (const { title, text } of documents) tokens += DOCUMENT_TOKENS + countTokens(title) + countTokens(text);
  return tokens + countJsonTokens(tools);
}

/** Templates indent JSON by up to four spaces. */
function countJsonTokens(value: readonly object[] = []): number {
  return value.length === 0 ? 0 : countTokens(JSON.stringify(value, null, 4));
}

const textTokens = (...texts: readonly string[]): number =>
  texts.reduce((sum, text) => sum + countTokens(text), SPECIAL_TOKENS);

/** Bounds of a call that reads texts one by one, each with a prefix. */
export function textBounds(texts: readonly string[], prefixTokens = 0): TokenBounds {
  const each = prefixTokens + SPECIAL_TOKENS;
  return {
    promptTokens: texts.reduce((sum, text) => sum + WINDOWS_FACTOR * countTokens(text) + each, 0),
    output: null,
  };
}

/** Bounds of a call that reads a query with each window of each document. */
export function rerankBounds(query: string, documents: readonly string[]): TokenBounds {
  const each = countTokens(query) + PAIR_TOKENS;
  const promptTokens = documents.reduce((sum, document) => sum + RERANK_FACTOR * countTokens(document) + each, 0);
  return { promptTokens, output: null };
}

/** Costs of a call: at least its prompt with one token of output per choice, at most all that its bounds allow. */
export function costBounds({ promptTokens, output }: TokenBounds, model: ModelView, call: Call): CostBounds {
  const cost = (tokensPerChoice: number) =>
    costMicros(
      { promptTokens, cachedTokens: 0, completionTokens: (output?.choices ?? 0) * tokensPerChoice },
      model.pricing,
      call.isBatchLine,
    );
  return { minMicros: cost(Math.min(1, output?.maxTokens ?? 0)), maxMicros: cost(output?.maxTokens ?? 0) };
}

/** The output limit per choice that granted credits cover; null when it need not be lowered. */
export function grantedOutputTokens(
  grantedMicros: number,
  { promptTokens, output }: TokenBounds,
  model: ModelView,
  call: Call,
): number | null {
  if (output === null) return null;
  const tokens = affordableTokens(grantedMicros, promptTokens, model.pricing, call.isBatchLine);
  if (tokens === null) return null;
  const perChoice = Math.floor(tokens / output.choices);
  return perChoice < output.maxTokens ? perChoice : null;
}

/**
 * The most tokens of a text: a token for each byte, in the form that has the most of them. Tokenizers read texts as
 * they are, or normalize them first, which replaces some characters by several.
 */
function countTokens(text: string): number {
  const bytes = Buffer.byteLength(text);
  if (bytes === text.length) return bytes;
  return Math.max(bytes, Buffer.byteLength(text.normalize('NFC')), Buffer.byteLength(text.normalize('NFKC')));
}
