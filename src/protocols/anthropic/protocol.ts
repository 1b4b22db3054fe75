/** Errors and streams of Anthropic's API, version 2023-06-01. */
import { Type } from 'typebox';
import type { ApiError } from '../../errors.ts';
import type { Protocol } from '../../http/protocol.ts';

/** Anthropic's name of each status. Others: `invalid_request_error` below 500, `api_error` above. */
const ERROR_TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
};

const AnthropicError = Type.Object(
  {
    type: Type.Literal('error'),
    error: Type.Object({
      type: Type.String(),
      message: Type.String(),
      param: Type.Union([Type.String(), Type.Null()], { description: 'Dotted path of the invalid field.' }),
      code: Type.String({ description: 'Identifies the error, as on the other routes.' }),
      reasons: Type.Optional(Type.Array(Type.String())),
      policy_id: Type.Optional(Type.String()),
    }),
    request_id: Type.String(),
  },
  { title: 'AnthropicErrorResponse' },
);

/**
 * How the routes of Anthropic's API render errors and streams. `param`, `code` and details are as in OpenAI's form.
 */
export const ANTHROPIC: Protocol = {
  errorBody: (error: ApiError, requestId) => {
    const type = ERROR_TYPES[error.status] ?? (error.status < 500 ? 'invalid_request_error' : 'api_error');
    return { type: 'error', error: { ...error.body().error, type }, request_id: requestId };
  },
  errorSchema: AnthropicError,
  stream: {
    contentType: 'text/event-stream; charset=utf-8',
    frame: (event) => `event: ${(event as { type: string }).type}\ndata: ${JSON.stringify(event)}\n\n`,
    // `message_stop` ends a complete stream.
    end: '',
    keepAlive: 'event: ping\ndata: {"type":"ping"}\n\n',
  },
  requestIdHeader: 'request-id',
};
