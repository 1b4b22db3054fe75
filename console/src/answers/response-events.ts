import { ApiFailure } from '../api/client.ts';
import { type AnswerEvent, type AnswerPart, parseCitations, parsePassage, type RawPassage } from './answer-events.ts';
import type { EventStream } from './event-stream.ts';

/** An item of the output of a response. */
export interface ResponseItem {
  type: string;
  id: string;
  content?: { text: string; annotations?: unknown[] }[];
  summary?: { text: string }[];
  queries?: string[];
  results?: RawPassage[];
  call_id?: string;
  name?: string;
  arguments?: string;
}

/** A response, as far as an answer shows it. */
export interface RawResponse {
  status: string;
  incomplete_details: { reason: string } | null;
  error: { message: string; code: string; param: string | null } | null;
  usage: { input_tokens: number; output_tokens: number; input_tokens_details: { cached_tokens: number } } | null;
}

/** An event of the Responses API. */
interface RawEvent {
  sequence_number?: number;
  type?: string;
  error?: { message: string; code: string; param: string | null };
  output_index?: number;
  delta?: string;
  item?: ResponseItem;
  response?: RawResponse;
}

/**
 * Reads the events of a response. Throws `ApiFailure` and `ConnectionLost`. `onEvent`: called with the sequence number
 * of each event.
 */
export async function* readResponseEvents(
  { events, status, requestId }: EventStream,
  onEvent: (sequence: number) => void = () => {},
): AsyncGenerator<AnswerEvent> {
  for await (const each of events) {
    const event = each as RawEvent;
    if (event.sequence_number !== undefined) onEvent(event.sequence_number);
    const failure = event.error ?? event.response?.error;
    if (failure != null) {
      yield* parseUsage(event.response);
      throw new ApiFailure(status, failure, requestId);
    }
    yield* parseEvent(event);
  }
}

/** The parts of a stored response. `isEnded`: its searches do not run any more. */
export const parseOutput = (output: readonly ResponseItem[], isEnded: boolean): AnswerPart[] =>
  output.flatMap((item, index) => parseItem(item, `item:${index}`, isEnded) ?? []);

function* parseEvent({ type, output_index: index, delta, item, response }: RawEvent): Generator<AnswerEvent> {
  const key = `item:${index}`;
  switch (type) {
    case 'response.output_text.delta':
      yield { type: 'delta', kind: 'text', key, text: delta ?? '' };
      return;
    case 'response.output_item.added':
    case 'response.output_item.done': {
      const part = item === undefined ? null : parseItem(item, key, type === 'response.output_item.done');
      if (part !== null) yield { type: 'part', part };
      return;
    }
    case 'response.completed':
    case 'response.incomplete':
      yield { type: 'finish', reason: response?.incomplete_details?.reason ?? response?.status ?? 'completed' };
      yield* parseUsage(response);
  }
}

function parseItem(item: ResponseItem, key: string, isDone: boolean): AnswerPart | null {
  const text = (item.content ?? []).map((part) => part.text).join('');
  switch (item.type) {
    case 'message':
      return { kind: 'text', key, text, citations: parseCitations(item.content?.[0]?.annotations ?? []), tokens: [] };
    case 'reasoning':
      return { kind: 'reasoning', key, text: text || (item.summary ?? []).map((part) => part.text).join('\n') };
    case 'function_call':
      return {
        kind: 'call',
        key,
        callId: item.call_id ?? '',
        name: item.name ?? '',
        arguments: item.arguments ?? '',
      };
    case 'file_search_call': {
      const { id, queries = [], results = [] } = item;
      return { kind: 'search', key, id, queries, passages: results.map(parsePassage), isRunning: !isDone };
    }
    default:
      return null;
  }
}

function* parseUsage(response: RawResponse | undefined): Generator<AnswerEvent> {
  if (response?.usage == null) return;
  const { input_tokens: promptTokens, output_tokens: completionTokens, input_tokens_details: details } = response.usage;
  yield { type: 'usage', usage: { promptTokens, completionTokens, cachedTokens: details.cached_tokens } };
}
