import type { ChatPrompt, TextPrompt } from '../engines/engine.ts';
import { contextTokensOf, type ModelView } from '../engines/registry.ts';
import { contextLengthExceeded } from '../errors.ts';

/** No tokenizer in use has a longer token. A prompt with more characters than this for each token cannot fit. */
const MAX_CHARACTERS_PER_TOKEN = 256;

/**
 * Throws 400 `context_length_exceeded` for a prompt that cannot fit whatever the tokenizer, before anything is done with its
 * text: searching, templating and tokenizing tens of megabytes would stall other requests.
 */
export function requirePromptFits(model: ModelView, prompt: ChatPrompt | TextPrompt): void {
  const contextTokens = contextTokensOf(model);
  if (countCharacters(prompt) <= contextTokens * MAX_CHARACTERS_PER_TOKEN) return;
  throw contextLengthExceeded(prompt.kind === 'chat' ? 'messages' : 'prompt', null, contextTokens);
}

/** Characters of all strings of a JSON value: messages, tool calls, and the schemas of tools. */
function countCharacters(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce<number>((sum, member) => sum + countCharacters(member), 0);
}
