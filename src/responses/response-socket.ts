import { Type } from 'typebox';
import { invalidValue, missingField } from '../errors.ts';
import type { App } from '../http/app.ts';
import { parse } from '../http/validation.ts';
import type { SocketMessage } from '../http/web-socket-connection.ts';
import { titleSchemas } from '../lib/title-schemas.ts';
import { createResponse } from './create-response.ts';
import { ResponseEvent } from './event-schema.ts';
import type { ResponseDeps } from './parse-call.ts';
import { CreateResponse } from './schema.ts';
import { UnstoredConversations } from './unstored-conversations.ts';

/** Fields of the transport by HTTP, and of other modes of OpenAI's WebSockets. */
const REJECTED = ['stream', 'stream_options', 'background', 'stream_id', 'generate'] as const;

/** A message to the client: an event of a response, or the error of a message of the client. */
const ResponseSocketMessage = Type.Union([
  ResponseEvent,
  Type.Object({
    type: Type.Literal('error'),
    status: Type.Integer({ description: 'Status of the error in HTTP.' }),
    error: Type.Object({
      message: Type.String(),
      type: Type.String(),
      param: Type.Union([Type.String(), Type.Null()]),
      code: Type.String(),
    }),
    headers: Type.Record(Type.String(), Type.String(), { description: '`x-request-id`, and others of the error.' }),
  }),
]);

titleSchemas({ ResponseSocketMessage });

/** `GET /v1/responses`, which opens a WebSocket: every message creates a response, one after the other. */
export function responseSocketRoute(app: App, deps: ResponseDeps): void {
  const unstored = new UnstoredConversations();
  app.webSockets.addRoute({
    url: '/v1/responses',
    schema: {
      summary: 'Create responses over a WebSocket',
      description:
        'Needs the headers of a WebSocket upgrade. A message is the body of `POST /v1/responses` with `type: "response.create"`, and without `stream`, `stream_options` and `background`. The answer is the events of a stream, one message each, or `{"type": "error", "status", "error", "headers"}`. `previous_response_id` may name the last response of the connection even if it is not stored.',
      tags: ['Responses'],
      response: { 101: ResponseSocketMessage },
      operationId: 'openResponseSocket',
    },
    config: { scope: 'inference' },
    allowedMethods: ['POST'],
    open: (closed) => {
      closed.addEventListener('abort', () => unstored.drop(closed), { once: true });
      return (message) => respond(deps, unstored, message);
    },
  });
}

/**
 * Starts the response of one message. The conversation that it continues is taken from memory: a message that fails
 * cannot be repeated with the same `previous_response_id` unless that response is stored (Open Responses).
 */
async function respond(
  deps: ResponseDeps,
  unstored: UnstoredConversations,
  { call, body, signal }: SocketMessage,
): Promise<AsyncGenerator<ResponseEvent, void, undefined>> {
  const { type, ...fields } = toObject(body);
  const owned = (id: unknown) => `${call.caller.organizationId}/${String(id)}`;
  const earlier = unstored.take(signal, owned(fields['previous_response_id']));
  if (type === undefined) throw missingField('type');
  if (type !== 'response.create') throw invalidValue('type', "must be 'response.create'");
  for (const field of REJECTED)
    if (fields[field] != null) throw invalidValue(field, 'must not be sent over a WebSocket');
  const request = { ...parse(CreateResponse, fields, ''), stream: true };
  const run = await createResponse(deps, call, request, {
    signal,
    earlier,
    keepUnstored: (id, conversation) => {
      if (!signal.aborted) unstored.keep(signal, owned(id), conversation);
    },
  });
  return run.events;
}

function toObject(body: unknown): Record<string, unknown> {
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body as Record<string, unknown>;
  throw invalidValue('body', 'must be an object');
}
