import { EventSourceParserStream } from 'eventsource-parser/stream';
import { networkFailure, toFailure } from '../api/client.ts';

/** The connection ended before the stream was complete; what has arrived is a part of the answer. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost';
}

/** A started stream of the API. */
export interface EventStream {
  status: number;
  requestId: string | null;
  /** `HIT` or `MISS` of the prefix cache; null when the service does not say. */
  cacheStatus: string | null;
  /** JSON values of the events. Throws `ConnectionLost` when the stream ends without `[DONE]`. */
  events: AsyncGenerator<unknown>;
}

/**
 * Opens a stream: the answer to a posted request, or, with null, to a GET. Throws `ApiFailure` when the service rejects
 * it.
 */
export async function openStream(path: string, request: object | null, signal: AbortSignal): Promise<EventStream> {
  const post = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(request) };
  const response = await fetch(path, { ...(request !== null && post), signal }).catch((error: unknown) => {
    if (signal.aborted) throw error;
    throw networkFailure();
  });
  if (!response.ok || response.body === null) throw await toFailure(response);
  return {
    status: response.status,
    requestId: response.headers.get('x-request-id'),
    cacheStatus: response.headers.get('x-cache-status'),
    events: readEvents(response.body, signal),
  };
}

/** Yields the JSON of each server-sent event until `[DONE]`. */
async function* readEvents(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  signal: AbortSignal,
): AsyncGenerator<unknown> {
  const reader = stream.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream()).getReader();
  try {
    while (true) {
      const { value, done } = await reader.read().catch((error: unknown) => {
        if (signal.aborted) throw error;
        throw new ConnectionLost();
      });
      if (done) throw new ConnectionLost();
      if (value.data === '[DONE]') return;
      if (value.data !== '') yield JSON.parse(value.data);
    }
  } finally {
    void reader.cancel().catch(() => {});
  }
}
