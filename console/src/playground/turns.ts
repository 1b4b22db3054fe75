import type { AnswerPart, AnswerUsage, RetrievedPassage } from '../answers/answer-events.ts';

/** A message of the user. */
export interface UserTurn {
  role: 'user';
  id: number;
  text: string;
}

/** The result of a tool call, given by the user. */
export interface ToolTurn {
  role: 'tool';
  id: number;
  callId: string;
  name: string;
  output: string;
}

/** `lost`: the connection broke in the middle. */
export type AnswerState = 'running' | 'done' | 'stopped' | 'lost' | 'failed';

/** An answer of the model, or what has arrived of it. */
export interface AnswerTurn {
  role: 'assistant';
  id: number;
  model: string;
  state: AnswerState;
  parts: readonly AnswerPart[];
  /** Passages that chat completions retrieved into the prompt. */
  context: readonly RetrievedPassage[];
  usage: AnswerUsage | null;
  /** Milliseconds from the request to the first part and to the end. */
  firstTokenMs: number | null;
  totalMs: number | null;
  finishReason: string | null;
  requestId: string | null;
  cacheStatus: string | null;
  error: Error | null;
  /** Exactly what was sent. */
  request: PlaygroundRequest;
}

/** A turn of a conversation. */
export type Turn = UserTurn | ToolTurn | AnswerTurn;

/** A request of the playground. */
export interface PlaygroundRequest {
  path: '/v1/chat/completions' | '/v1/responses';
  body: Record<string, unknown>;
}

/** Text of an answer. */
export const answerText = (turn: AnswerTurn): string =>
  turn.parts.map((part) => (part.kind === 'text' ? part.text : '')).join('');

/** Ids of the knowledge bases that an answer was allowed to search. */
export function searchedBases({ request: { body } }: AnswerTurn): string[] {
  type Tool = { file_search?: { knowledge_base_ids?: string[] } };
  const { knowledge_bases: bases = [], tools = [] } = body as { knowledge_bases?: string[]; tools?: Tool[] };
  return [...bases, ...tools.flatMap(({ file_search: search }) => search?.knowledge_base_ids ?? [])];
}
