import type { AnswerEvent } from '../answers/answer-events.ts';
import { openStream } from '../answers/event-stream.ts';
import { readResponseEvents } from '../answers/response-events.ts';

/** Streams a response of the Responses API. Throws `ApiFailure` and `ConnectionLost`. */
export async function* streamResponse(request: object, signal: AbortSignal): AsyncGenerator<AnswerEvent> {
  const stream = await openStream('/v1/responses', request, signal);
  yield { type: 'head', requestId: stream.requestId, cacheStatus: stream.cacheStatus };
  yield* readResponseEvents(stream);
}
