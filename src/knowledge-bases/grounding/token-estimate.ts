import type { ChatPrompt } from '../../engines/engine.ts';
import { countImages, IMAGE_TOKENS } from '../../engines/prompt-images.ts';

/**
 * Conservative bytes per token for ASCII and other characters. Median texts have 3.8 to 4.9 in English and 1.4 to 9 in
 * other languages over seventeen vocabularies; only old vocabularies are below 2
 * (docs/develop/decisions/0013-grounding.md).
 */
const BYTES_PER_TOKEN = { ascii: 3, other: 2 } as const;
/** Tokens that a chat template adds to a message. */
const TOKENS_PER_MESSAGE = 8;
/** Tokens that a chat template adds to a prompt. */
const TOKENS_PER_PROMPT = 16;

/** Upper estimate of a text's tokens for vocabularies of usual size. An exact count would need a call to the engine. */
export function estimateTokens(text: string): number {
  const bytes = Buffer.byteLength(text);
  const other = bytes - asciiBytes(text);
  return Math.ceil((bytes - other) / BYTES_PER_TOKEN.ascii + other / BYTES_PER_TOKEN.other);
}

function asciiBytes(text: string): number {
  let count = 0;
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) < 0x80) count += 1;
  return count;
}

/** Upper estimate of the tokens of a chat with its tools. */
export function estimatePromptTokens({ messages, tools }: Pick<ChatPrompt, 'messages' | 'tools'>): number {
  const messageTokens = messages.reduce((sum, { content, tool_calls }) => {
    const calls = tool_calls === undefined ? '' : JSON.stringify(tool_calls);
    return sum + TOKENS_PER_MESSAGE + estimateTokens(content ?? '') + estimateTokens(calls);
  }, TOKENS_PER_PROMPT);
  const imageTokens = IMAGE_TOKENS * countImages(messages);
  return messageTokens + imageTokens + (tools.length === 0 ? 0 : estimateTokens(JSON.stringify(tools)));
}
