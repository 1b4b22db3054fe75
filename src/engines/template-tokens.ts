import type { ChatMessage, ChatPrompt } from './engine.ts';

/** Tokens of templates that are not known: a system prompt of its own, and instructions for tools. */
const UNKNOWN_TOKENS = 512;
/** Role markers and white space of a message, in small vocabularies that spell them. */
const MESSAGE_TOKENS = 32;
/** Difference of prompts of the same roles besides their texts: dates in system prompts, reasoning settings. */
const MARGIN_TOKENS = 16;
/** Longest conversations that are recorded: bounds the number of their sequences of roles. */
const MAX_MESSAGES = 4;

const user: ChatMessage = { role: 'user', content: 'a' };
const assistant: ChatMessage = { role: 'assistant', content: 'a' };
const system: ChatMessage = { role: 'system', content: 'a' };

/** Conversations whose tokens engines count, where they can without a generation. */
export const SAMPLE_PROMPTS: readonly ChatPrompt[] = [
  [user],
  [system, user],
  [user, assistant, user],
  [system, user, assistant, user],
].map((messages) => ({ kind: 'chat', messages, tools: [], toolChoice: 'none', parallelToolCalls: false }));

/** Upper bounds of the tokens that a chat template adds, from counted prompts with the same sequence of roles. */
export class TemplateTokens {
  /** By the roles of the messages. */
  readonly #leastTokens = new Map<string, number>();

  /** Records the tokens that an engine counted. The template has no more than the prompt. */
  record(prompt: ChatPrompt, promptTokens: number): void {
    const { messages } = prompt;
    // A server that counts less than its role markers does not count.
    if (!isPlain(prompt) || messages.length > MAX_MESSAGES || !(promptTokens >= messages.length)) return;
    const roles = joinRoles(messages);
    this.#leastTokens.set(roles, Math.min(promptTokens, this.#leastTokens.get(roles) ?? promptTokens));
  }

  /** Records the tokens of `SAMPLE_PROMPTS`. */
  recordSamples(promptTokens: readonly number[]): void {
    for (const [at, prompt] of SAMPLE_PROMPTS.entries()) this.record(prompt, promptTokens[at] ?? 0);
  }

  /** Upper bound for a prompt. */
  bound(prompt: ChatPrompt): number {
    const { messages } = prompt;
    let least = unknownTemplateTokens(messages);
    if (!isPlain(prompt)) return least;
    for (let length = Math.min(MAX_MESSAGES, messages.length); length > 0; length--) {
      const tokens = this.#leastTokens.get(joinRoles(messages.slice(0, length)));
      if (tokens === undefined) continue;
      least = Math.min(least, tokens + MARGIN_TOKENS + MESSAGE_TOKENS * (messages.length - length));
    }
    return least;
  }
}

/** Upper bound of the tokens that any chat template adds. */
export function unknownTemplateTokens({ length }: readonly ChatMessage[]): number {
  return UNKNOWN_TOKENS + MESSAGE_TOKENS * length;
}

const joinRoles = (messages: readonly ChatMessage[]): string => messages.map(({ role }) => role).join();

/** Whether a template renders nothing but texts and their roles. */
function isPlain({ messages, tools, documents = [] }: ChatPrompt): boolean {
  const isText = ({ role, tool_calls: calls, images }: ChatMessage) =>
    role !== 'tool' && calls === undefined && images === undefined;
  return tools.length === 0 && documents.length === 0 && messages.every(isText);
}
