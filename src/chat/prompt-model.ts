import type { Call } from '../lib/caller.ts';
import { collectChat } from './collect-chat.ts';
import { parseChatCall } from './parse-call.ts';
import type { ChatRequest } from './schema.ts';
import { type ChatDeps, startChat } from './start-chat.ts';

/** Default limit of completion tokens: enough for a question, or a verdict with its reason. */
const MAX_TOKENS = 300;

/** A prompt without history. */
export interface ModelPrompt {
  model: string;
  seed: number;
  system: string;
  user: string;
  /** JSON schema of the completion. */
  schema?: object;
  maxTokens?: number;
}

/**
 * Returns the completion of a chat model, decoded greedily, so that it depends on the prompt and the seed only. The
 * call is admitted, screened and recorded as one of the API. Throws as `startChat` does.
 */
export async function promptModel(
  deps: ChatDeps,
  call: Call,
  { model, seed, system, user, schema, maxTokens = MAX_TOKENS }: ModelPrompt,
  signal: AbortSignal,
): Promise<string> {
  const messages: ChatRequest['messages'] = [
    { role: 'system', content: system },
    { role: 'user', content: user },
  ];
  const json_schema = { name: 'completion', strict: true, schema } as never;
  const format = schema === undefined ? {} : { response_format: { type: 'json_schema' as const, json_schema } };
  const chat = parseChatCall(deps, call, { model, messages, seed, temperature: 0, max_tokens: maxTokens, ...format });
  const { choices } = await collectChat(await startChat(deps, chat, signal));
  return choices[0]?.message.content ?? '';
}
