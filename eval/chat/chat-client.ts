import { showProgress } from '../../bench/harness/command.ts';
import type { ServiceClient } from '../../bench/harness/service-client.ts';

/** A model under evaluation. */
export interface EvaluatedModel {
  /** Name in the tables. */
  name: string;
  id: string;
}

/** A chat message of the API. */
export interface Message {
  role: 'system' | 'user' | 'assistant' | 'tool';
  content: string | null;
  tool_calls?: { id: string; type: 'function'; function: { name: string; arguments: string } }[];
  tool_call_id?: string;
}

/** A tool of the API. */
export interface Tool {
  type: 'function';
  function: { name: string; description?: string; parameters?: Record<string, unknown> };
}

/** A chat request. */
export interface Chat {
  messages: readonly Message[];
  tools?: readonly Tool[];
}

/** The first choice of a completion. */
export interface ChatAnswer {
  text: string;
  calls: { name: string; arguments: string }[];
  /** Finish reason, or `REJECTED`. */
  reason: string;
}

/** Reason of a chat that the service answered with 400. */
export const REJECTED = 'rejected';

/** Concurrent requests: the slots of the engine on a small machine. */
const AT_ONCE = 4;
const MAX_TOKENS = 300;

interface Completion {
  choices: [{ message: Message; finish_reason: string }];
}

/** Completes all chats with greedy decoding, a few concurrently. Results have the order of the chats. */
export async function completeAll(
  service: ServiceClient,
  subject: EvaluatedModel,
  chats: readonly Chat[],
  what: string,
): Promise<ChatAnswer[]> {
  const answers: ChatAnswer[] = new Array(chats.length);
  let next = 0;
  let done = 0;
  const work = async (): Promise<void> => {
    while (next < chats.length) {
      const at = next++;
      answers[at] = await ask(service, subject, chats[at] as Chat);
      showProgress(++done, chats.length, `${what}, ${subject.name}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return answers;
}

async function ask(service: ServiceClient, subject: EvaluatedModel, chat: Chat): Promise<ChatAnswer> {
  const body = { model: subject.id, temperature: 0, max_tokens: MAX_TOKENS, ...chat };
  try {
    const { choices } = await service.post<Completion>('/v1/chat/completions', body);
    const { message, finish_reason: reason } = choices[0];
    const calls = (message.tool_calls ?? []).map(({ function: called }) => called);
    return { text: message.content ?? '', calls, reason };
  } catch (error) {
    // Rejected: longer than the context, or a schema that cannot be enforced.
    if (error instanceof Error && / answered 400: /.test(error.message))
      return { text: '', calls: [], reason: REJECTED };
    throw error;
  }
}
