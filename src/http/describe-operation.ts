import { Type } from 'typebox';
import { ApiError, type ErrorFacts } from '../errors.ts';
import { titleSchemas } from '../lib/title-schemas.ts';
import type { Protocol } from './protocol.ts';

const ERROR_FIELDS = {
  message: Type.String(),
  type: Type.String(),
  param: Type.Union([Type.String(), Type.Null()], { description: 'Dotted path of the invalid field.' }),
  code: Type.String({ description: 'Identifies the error; errors.md lists the codes.' }),
};

/** Response body of all errors. */
const ErrorResponse = Type.Object({ error: Type.Object(ERROR_FIELDS) });

/** Response body of errors of calls that a guardrail policy screens. */
const ScreenedErrorResponse = Type.Object({
  error: Type.Object({
    ...ERROR_FIELDS,
    reasons: Type.Optional(
      Type.Array(Type.String(), { description: 'With `content_filtered`: the flagged categories.' }),
    ),
    policy_id: Type.Optional(Type.String({ description: 'With `content_filtered`: the guardrail policy.' })),
  }),
});

titleSchemas({ ErrorResponse, ScreenedErrorResponse });

/** What a route declares besides its schema. */
export interface RouteFacts {
  method: string;
  scope: string | undefined;
  /** Statuses of the errors of console sessions. */
  sessionErrors: readonly number[];
  isIdempotent: boolean;
  hasBody: boolean;
  hasQuery: boolean;
  hasParams: boolean;
  /** Protocol of the errors; null: OpenAI's. */
  protocol: Protocol | null;
}

/** Description, type and code of each error status; the example has the code. */
const ERRORS: Readonly<Record<number, readonly [description: string, type: string, code: string]>> = {
  400: ['A field is missing or invalid.', 'invalid_request_error', 'invalid_value'],
  401: ['The API key is missing or invalid.', 'authentication_error', 'invalid_api_key'],
  402: [
    'The credits of the organization or the budget of the key do not cover the call.',
    'billing_error',
    'insufficient_credits',
  ],
  403: ['The key lacks a scope, or may not use the model.', 'permission_error', 'insufficient_scope'],
  404: ['A named resource does not exist, or belongs to another organization.', 'not_found_error', 'not_found'],
  408: ['The body did not arrive in time.', 'invalid_request_error', 'request_timeout'],
  409: [
    'The state of the resource, or the first request with this `Idempotency-Key`, forbids the request.',
    'conflict_error',
    'idempotency_conflict',
  ],
  413: ['The body is too large.', 'invalid_request_error', 'request_too_large'],
  415: ['The content type or content encoding is not supported.', 'invalid_request_error', 'unsupported_media_type'],
  429: ['A rate limit of the key or its organization is reached.', 'rate_limit_error', 'rate_limit_exceeded'],
  500: ['The server failed.', 'server_error', 'server_error'],
  503: ['The engine or a store is not available at the moment.', 'server_error', 'engine_unavailable'],
};

/** Errors of session routes, which take no API key. */
const SESSION_ERRORS: typeof ERRORS = {
  401: [
    'The session is unknown or has ended (`invalid_session`), or the password is wrong (`invalid_credentials`).',
    'authentication_error',
    'invalid_session',
  ],
  403: ['The request comes from a page of another site.', 'permission_error', 'insufficient_scope'],
  429: ['There were too many attempts to sign in.', 'rate_limit_error', 'rate_limit_exceeded'],
};

const EXAMPLE_REQUEST_ID = 'req_01kf8x5v9n3q7c2m4r6t8w0y1z';

/** Statuses that a client may retry after the seconds of `Retry-After`. */
const RETRIED: ReadonlySet<number> = new Set([429, 503]);

/** Returns the error responses of a route by status. */
export function errorResponses(facts: RouteFacts): Record<number, object> {
  const statuses = [
    ...(facts.hasBody || facts.hasQuery || facts.hasParams ? [400] : []),
    ...(facts.scope === 'public' ? facts.sessionErrors : [401, 403, 429]),
    ...(facts.scope === 'inference' ? [402] : []),
    ...(facts.hasParams || facts.scope === 'inference' || facts.hasBody ? [404] : []),
    ...(facts.hasBody ? [408, 413, 415] : []),
    ...(facts.isIdempotent || facts.method === 'DELETE' ? [409] : []),
    ...[500, 503],
  ];
  return Object.fromEntries(statuses.map((status) => [status, errorResponse(status, facts)]));
}

function errorResponse(status: number, { scope, sessionErrors, protocol }: RouteFacts): object {
  const isOfSession = sessionErrors.includes(status);
  const [description, type, code] = (isOfSession ? SESSION_ERRORS : ERRORS)[status] ?? ERRORS[500] ?? ['', '', ''];
  const headers = {
    ...COMMON_HEADERS,
    ...(RETRIED.has(status) && { 'retry-after': RETRY_AFTER }),
    ...(status === 401 && {
      'www-authenticate': text('Challenge: `Bearer` (RFC 6750), `Cookie` for sessions of the console.'),
    }),
  };
  const error = new ApiError({ status, type: type as ErrorFacts['type'], code, message: description });
  const ownSchema = status === 400 && scope === 'inference' ? ScreenedErrorResponse : ErrorResponse;
  const schema = protocol?.errorSchema ?? ownSchema;
  const example = protocol?.errorBody(error, EXAMPLE_REQUEST_ID) ?? error.body();
  return { description, headers, content: { 'application/json': { schema, example } } };
}

const text = (description: string) => ({ type: 'string', description });
const integer = (description: string) => ({ type: 'integer', description });

const COMMON_HEADERS = { 'x-request-id': text('Id of the request, also in the log of the server.') };
const RETRY_AFTER = integer('Seconds until the request can succeed.');

const LIMIT_HEADERS = Object.fromEntries(
  ['requests', 'tokens'].flatMap((kind) => [
    [`x-ratelimit-limit-${kind}`, integer(`Limit of ${kind} per minute.`)],
    [`x-ratelimit-remaining-${kind}`, integer(`Remaining ${kind} of this minute.`)],
    [`x-ratelimit-reset-${kind}`, text(`Time until the limit of ${kind} is full again, such as \`1s\`.`)],
  ]),
);

const INFERENCE_HEADERS = {
  'x-moderation-warning': text(
    'When a policy lets content pass: `flagged` (input), `output_flagged`, `unscreened`, or several, separated by a comma and a space.',
  ),
  'x-guardrail-policy': text('Id of the guardrail policy that flagged the call.'),
  'x-budget-warning': text('The budget of the key has passed its soft limit.'),
};

const CACHE_HEADER = {
  'x-cache-status': {
    type: 'string',
    enum: ['HIT', 'MISS'],
    description: 'Whether a prefix of the prompt was cached.',
  },
};

/** Headers of the successful responses of a route. */
export function responseHeaders({ scope, isIdempotent }: RouteFacts, reportsCache: boolean): Record<string, object> {
  return {
    ...COMMON_HEADERS,
    ...(scope !== 'public' && LIMIT_HEADERS),
    ...(scope === 'inference' && INFERENCE_HEADERS),
    ...(reportsCache && CACHE_HEADER),
    ...(isIdempotent && { 'idempotent-replayed': text('`true`: the response of an earlier request with this key.') }),
  };
}
