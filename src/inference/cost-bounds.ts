import { affordableTokens, costMicros } from '../billing/price.ts';
import type { ChatPrompt, TextPrompt } from '../engines/engine.ts';
import { countImages, MAX_IMAGE_TOKENS, withoutImages } from '../engines/prompt-images.ts';
import { knownContextTokens, type ModelView } from '../engines/registry.ts';
import type { Call } from '../lib/caller.ts';
import type { CostBounds } from '../lib/reservation.ts';

/** Tokens that chat templates add: system prompts and tool instructions of their own, and the role markers of a message. */
const TEMPLATE_TOKENS = 512;
const MESSAGE_TOKENS = 16;
/** Special tokens that encoders add to a text, or to a query with a document. */
const SPECIAL_TOKENS = 8;
/** Encoders read long texts in overlapping windows. */
const OVERLAP_FACTOR = 2;

/** Upper bounds of the tokens of a call. */
export interface TokenBounds {
  promptTokens: number;
  /** Choices with their output limit each; null: the call has no output. */
  output: { choices: number; maxTokens: number } | null;
}

/** Bounds of a generation. No tokenizer makes more tokens of a text than it has bytes. */
export function generationBounds(
  model: ModelView,
  { prompt, choices, maxTokens }: { prompt: ChatPrompt | TextPrompt; choices: number; maxTokens: number | null },
): TokenBounds {
  const contextTokens = knownContextTokens(model) ?? Number.MAX_SAFE_INTEGER;
  const messages = prompt.kind === 'chat' ? prompt.messages : [];
  const text = countBytes(prompt.kind === 'chat' ? withoutImages(prompt) : prompt);
  const others = TEMPLATE_TOKENS + messages.length * MESSAGE_TOKENS + countImages(messages) * MAX_IMAGE_TOKENS;
  const promptTokens = Math.min(contextTokens, text + others);
  return { promptTokens, output: { choices, maxTokens: Math.min(contextTokens, maxTokens ?? contextTokens) } };
}

/** Bounds of a call that reads texts one by one. */
export function textBounds(texts: readonly string[]): TokenBounds {
  let promptTokens = 0;
  for (const text of texts) promptTokens += OVERLAP_FACTOR * Buffer.byteLength(text) + SPECIAL_TOKENS;
  return { promptTokens, output: null };
}

/** Bounds of a call that reads a query with each window of each document. */
export function rerankBounds(query: string, documents: readonly string[]): TokenBounds {
  const queryBytes = Buffer.byteLength(query);
  const { promptTokens } = textBounds(documents);
  return { promptTokens: promptTokens + documents.length * (queryBytes + SPECIAL_TOKENS), output: null };
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

/** Bytes of all strings in a JSON value, with keys: tool schemas are rendered with theirs. */
function countBytes(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value);
  if (typeof value === 'number' || typeof value === 'boolean') return String(value).length;
  if (typeof value !== 'object' || value === null) return 0;
  let bytes = 0;
  for (const [key, member] of Object.entries(value)) bytes += key.length + PUNCTUATION_BYTES + countBytes(member);
  return bytes;
}

/** Quotes, colon, comma and brackets around a member. */
const PUNCTUATION_BYTES = 8;
