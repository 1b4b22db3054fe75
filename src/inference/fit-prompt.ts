import type { ChatPrompt, TextPrompt } from '../engines/engine.ts';
import { withoutImages } from '../engines/prompt-images.ts';
import { knownContextTokens, type ModelView } from '../engines/registry.ts';
import { contextLengthExceeded } from '../errors.ts';

/** Longest token of any tokenizer in use, in characters. */
const MAX_CHARACTERS_PER_TOKEN = 256;

/**
 * Throws 400 `context_length_exceeded` for a prompt that cannot fit with any tokenizer. Runs before searching,
 * templating and tokenizing, which would block the event loop for tens of megabytes.
 */
export function requirePromptFits(model: ModelView, prompt: ChatPrompt | TextPrompt): void {
  const contextTokens = knownContextTokens(model);
  const texts = prompt.kind === 'chat' ? withoutImages(prompt) : prompt;
  if (contextTokens === null || countCharacters(texts) <= contextTokens * MAX_CHARACTERS_PER_TOKEN) return;
  throw contextLengthExceeded(prompt.kind === 'chat' ? 'messages' : 'prompt', null, contextTokens);
}

/** Characters of all strings in a JSON value, without keys. */
function countCharacters(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce<number>((sum, member) => sum + countCharacters(member), 0);
}
