import { type Static, Type } from 'typebox';
import { ListQuery } from '../db/page.ts';
import { Nullable } from '../http/schema-types.ts';
import { MUST } from '../http/validation.ts';
import { titleSchemas } from '../lib/title-schemas.ts';

/** Result of the guardrail policies. */
const Guardrail = Type.Enum(['passed', 'flagged', 'blocked']);
const Step = Type.Object({
  type: Type.Enum(['screen', 'search', 'tool', 'chat', 'completion', 'embedding', 'rerank', 'moderation']),
  name: Type.String({
    description:
      'Model id, name of the knowledge base or of the tool; `input` or `output` for the screening of a guardrail policy.',
  }),
  start_ms: Type.Integer({ description: 'Milliseconds after the start of the request.' }),
  duration_ms: Type.Integer(),
  queue_ms: Type.Optional(Type.Integer({ description: 'Part of `duration_ms` in the queue of the engine.' })),
  first_token_ms: Type.Optional(
    Nullable(Type.Integer(), 'From the start of the step to the first token; null unless it was streamed.'),
  ),
  prompt_tokens: Type.Optional(Type.Integer()),
  completion_tokens: Type.Optional(Type.Integer()),
});

/** A request of the request log. */
export const LoggedRequest = Type.Object(
  {
    id: Type.String({ description: 'The `x-request-id` of the response.' }),
    object: Type.Literal('request'),
    created_at: Type.Integer({ description: 'Start of the request, in Unix milliseconds.' }),
    organization_id: Type.String(),
    key_id: Type.String({ description: 'Id of the key, or of the user of the console.' }),
    key_name: Nullable(
      Type.String(),
      'Name of the key or user. Null after its deletion, and for users when the request has a key without the scope `keys`.',
    ),
    route: Type.String({ description: 'Such as `/v1/chat/completions`.' }),
    model: Nullable(Type.String(), 'Null when the request was rejected before its model was known.'),
    status: Type.Integer({
      description:
        'HTTP status. 499: the client disconnected. A stream that failed after its head has the status of its error.',
    }),
    error: Type.Union([Type.Object({ code: Type.String(), message: Type.String() }), Type.Null()]),
    is_batch: Type.Boolean({ description: 'Whether the request is a line of a batch.' }),
    model_calls: Type.Integer(),
    prompt_tokens: Type.Integer(),
    cached_tokens: Type.Integer({ description: 'Part of `prompt_tokens`.' }),
    completion_tokens: Type.Integer(),
    cost_micros: Type.Integer({ description: '1,000,000 micros are one credit.' }),
    duration_ms: Type.Integer({ description: 'From the head of the request to the end of the response.' }),
    queue_ms: Type.Integer({ description: 'Part of `duration_ms` in the queues of engines.' }),
    first_token_ms: Nullable(
      Type.Integer(),
      'From the start of the request to the first token; null unless the answer was streamed.',
    ),
    decode_ms: Nullable(Type.Integer(), 'From the first token to the end; null without `first_token_ms`.'),
    cache: Type.Union([Type.Enum(['hit', 'miss']), Type.Null()], {
      description: 'Whether a prefix of a prompt was read from the cache; null when no prompt was processed.',
    }),
    guardrail: Type.Union([Guardrail, Type.Null()], { description: 'Null: no policy applied.' }),
    trace_id: Nullable(Type.String(), 'Trace of OpenTelemetry, or of the `traceparent` of the request.'),
  },
  {
    examples: [
      {
        id: 'req_01k5f0000000000000000000aa',
        object: 'request',
        created_at: 1_763_683_200_123,
        organization_id: 'org_01k5f0000000000000000000aa',
        key_id: 'key_01k5f0000000000000000000aa',
        key_name: 'support-bot',
        route: '/v1/responses',
        model: 'general-8b',
        status: 200,
        error: null,
        is_batch: false,
        model_calls: 2,
        prompt_tokens: 3604,
        cached_tokens: 2880,
        completion_tokens: 208,
        cost_micros: 3100,
        duration_ms: 2410,
        queue_ms: 0,
        first_token_ms: 310,
        decode_ms: 2100,
        cache: 'hit',
        guardrail: 'passed',
        trace_id: null,
      },
    ],
  },
);

export type LoggedRequest = Static<typeof LoggedRequest>;

/** A request with its steps. */
export const LoggedRequestDetail = Type.Object({
  ...LoggedRequest.properties,
  has_contents: Type.Boolean({
    description: 'Whether the prompt and the answer are recorded and the caller may read them.',
  }),
  steps: Type.Array(Step, {
    description:
      'Screening, searches, tools and model calls, in the order of their start. Steps may overlap. At most 64.',
  }),
});

export type LoggedRequestDetail = Static<typeof LoggedRequestDetail>;

/** PostgreSQL rejects NUL characters. */
const Plain = (description: string) =>
  Type.Optional(
    Type.String({
      pattern: '^[^\\u0000]{1,256}$',
      [MUST]: 'have 1 to 256 characters, none of which is NUL',
      description,
    }),
  );

/** Unix seconds of the year 9999. */
const MAX_SECONDS = 253_402_300_799;

/** Query parameters of `GET /v1/requests`. */
export const RequestsQuery = Type.Object({
  ...ListQuery.properties,
  order: Type.Optional(Type.Enum(['asc', 'desc'], { default: 'desc', description: '`desc`: newest first.' })),
  start_time: Type.Optional(Type.Integer({ minimum: 0, maximum: MAX_SECONDS, description: 'Unix seconds.' })),
  end_time: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_SECONDS, description: 'Unix seconds, exclusive.' })),
  status: Type.Optional(
    Type.String({
      pattern: '^(error|[245]xx|[1-5][0-9]{2})$',
      [MUST]: 'be `2xx`, `4xx`, `5xx`, `error` or a status such as `429`',
      description: 'A class of statuses, `error` for all from 400 on, or one status.',
    }),
  ),
  model: Plain('Only requests of this model.'),
  key_id: Type.Optional(
    Type.String({
      pattern: '^[a-z0-9_-]{1,64}$',
      [MUST]: 'be an id',
      description: 'Only requests of this key or user of the console.',
    }),
  ),
  route: Plain('Only requests to this route, such as `/v1/chat/completions`.'),
  guardrail: Type.Optional(Guardrail),
  cache: Type.Optional(Type.Enum(['hit', 'miss'])),
  min_duration_ms: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 2_147_483_647, description: 'Only requests that took at least this long.' }),
  ),
  search: Plain(
    'A request id, or a part of an error code, an error message, a key name or, with the scope `keys`, a user name (case-insensitive). Matches at most 50 keys and users.',
  ),
  organization_id: Type.Optional(
    Type.String({
      pattern: '^[a-z0-9_-]{1,64}$',
      [MUST]: 'be an id',
      description: 'Another organization, or `all`. Needs the scope `admin`. Default: that of the key.',
    }),
  ),
});

export type RequestsQuery = Static<typeof RequestsQuery>;

/** Path of one request. */
export const RequestParams = Type.Object({ request_id: Type.String() });

titleSchemas({ LoggedRequest, LoggedRequestDetail });
