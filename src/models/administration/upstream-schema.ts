import { type Static, Type } from 'typebox';
import { UPSTREAM_PROTOCOLS } from '../../config/settings.ts';
import { Nullable, UnixSeconds } from '../../http/schema-types.ts';
import { titleSchemas } from '../../lib/title-schemas.ts';

const Protocol = Type.Enum(UPSTREAM_PROTOCOLS, {
  description: "API of the server. `anthropic`: Anthropic's Messages, for chat models.",
});

/** Body of `POST /v1/admin/upstreams`. */
export const CreateUpstream = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 100, description: 'Unique among the servers.' }),
    base_urls: Type.Array(Type.String({ minLength: 1, maxLength: 2_048 }), {
      minItems: 1,
      maxItems: 32,
      description:
        'Address of the server up to `/chat/completions`, such as `http://gpu:8000/v1`; several for replicas of one model. Private addresses are allowed; user names and passwords are not, nor query parameters but `api-version`.',
    }),
    protocol: Type.Optional(Protocol),
    api_key: Type.Optional(
      Nullable(Type.String({ minLength: 1, maxLength: 4_096, description: 'Stored encrypted, and never shown.' })),
    ),
  },
  { examples: [{ name: 'GPU servers', base_urls: ['http://gpu-1:8000/v1'], api_key: 'KEY' }] },
);

export type CreateUpstream = Static<typeof CreateUpstream>;

/** Body of `PUT /v1/admin/upstreams/{upstream_id}`. */
export const UpdateUpstream = Type.Partial(CreateUpstream, {
  description: 'Absent fields keep their values. Null removes the key. Another host needs its key.',
  examples: [{ name: 'GPU servers in Oslo' }],
});

export type UpdateUpstream = Static<typeof UpdateUpstream>;

/** A server of models. */
export const UpstreamResource = Type.Object({
  id: Nullable(Type.String({ description: '`ups_...`; null for servers of the configuration.' })),
  object: Type.Literal('upstream'),
  source: Type.Enum(['api', 'configuration', 'environment'], {
    description: 'Where it comes from. Only those of `api` can be changed over the API.',
  }),
  name: Type.String({ description: 'Of the configuration: the first model id that it serves.' }),
  base_urls: Type.Array(Type.String()),
  protocol: Protocol,
  has_api_key: Type.Boolean(),
  models: Type.Array(Type.String(), { description: 'Model ids that are bound to it.' }),
  servers: Type.Array(
    Type.Object({
      url: Type.String({ description: 'Scheme, host and port.' }),
      healthy: Type.Boolean({ description: 'False while the server gets no requests after a failure.' }),
      in_flight: Type.Integer(),
      last_error: Nullable(Type.Object({ message: Type.String(), created_at: Type.Integer() })),
    }),
    { description: 'State in the process that answers. Empty while no model id is bound to it.' },
  ),
  created_at: Nullable(UnixSeconds),
  updated_at: Nullable(UnixSeconds),
});

export type UpstreamResource = Static<typeof UpstreamResource>;

/** All servers on one page. */
export const UpstreamList = Type.Object({ object: Type.Literal('list'), data: Type.Array(UpstreamResource) });

/** Path of a server. */
export const UpstreamParams = Type.Object({ upstream_id: Type.String() });

/** Answer of `DELETE /v1/admin/upstreams/{upstream_id}`. */
export const DeletedUpstream = Type.Object({
  id: Type.String(),
  object: Type.Literal('upstream'),
  deleted: Type.Literal(true),
});

/** Body of `POST /v1/admin/upstreams/{upstream_id}/test`. */
export const TestUpstream = Type.Object(
  {
    model: Type.Optional(
      Nullable(
        Type.String({
          minLength: 1,
          maxLength: 256,
          description: "The server's name of a chat model, which answers three short requests. Absent: none is sent.",
        }),
      ),
    ),
  },
  { examples: [{ model: 'meta-llama/Llama-3.3-70B-Instruct' }] },
);

export type TestUpstream = Static<typeof TestUpstream>;

/** What a server answered. */
export const UpstreamTest = Type.Object({
  object: Type.Literal('upstream_test'),
  servers: Type.Array(
    Type.Object({
      url: Type.String(),
      latency_ms: Type.Integer({ description: 'Of the request for the list of models.' }),
      error: Nullable(Type.String({ description: 'Null: it answered.' })),
    }),
  ),
  models: Type.Array(
    Type.Object({
      id: Type.String(),
      context_length: Nullable(Type.Integer({ description: 'In tokens; null: not reported.' })),
    }),
    { description: 'Of the first server that answered; at most 1,000.' },
  ),
  context_length: Nullable(
    Type.Integer({
      description:
        'Context length of the tested model. Null if no model was tested, or if the server does not report it.',
    }),
  ),
  features: Type.Array(
    Type.Object({
      name: Type.Enum(['streaming', 'tools', 'schema']),
      error: Nullable(Type.String({ description: 'Why the feature cannot be used; null: it works.' })),
    }),
    { description: 'Empty without a model.' },
  ),
});

export type UpstreamTest = Static<typeof UpstreamTest>;

titleSchemas({
  CreateUpstream,
  UpdateUpstream,
  UpstreamResource,
  UpstreamList,
  DeletedUpstream,
  TestUpstream,
  UpstreamTest,
});
