import { type Static, Type } from 'typebox';
import { ListOrder, ListQuery } from '../db/page.ts';
import { MUST } from '../http/validation.ts';
import { titleSchemas } from '../lib/title-schemas.ts';
import { AUDIT_ACTIONS } from './record-change.ts';

const OptionalText = (description: string) => Type.Union([Type.String(), Type.Null()], { description });

/** An event of the audit log. */
export const AuditEvent = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal('audit_event'),
    action: Type.Enum(AUDIT_ACTIONS),
    organization_id: Type.String({
      description: 'The organization that owns the resource; empty for model bindings, which the instance owns.',
    }),
    actor: Type.String({
      description: 'Id of the API key or user; `cli`: a `quire` command; `service`: the service itself.',
    }),
    actor_name: OptionalText('Name of the key or email of the user; null for others, and when it no longer exists.'),
    address: OptionalText(
      'Address of the client; null for commands and the service. Behind a proxy that `QUIRE_TRUSTED_PROXIES` does not list, that of the proxy.',
    ),
    request_id: OptionalText('The `x-request-id` of the request.'),
    resource_type: Type.String(),
    resource_id: Type.String(),
    changes: Type.Array(
      Type.Object({ field: Type.String(), from: Type.Optional(Type.Unknown()), to: Type.Optional(Type.Unknown()) }),
      {
        description:
          'Changed fields, without secrets. Values only of keys, organizations, credits and model bindings; other resources have names only.',
      },
    ),
    created_at: Type.Integer({ description: 'Unix seconds.' }),
  },
  {
    examples: [
      {
        id: 'audit_01k5f0000000000000000000aa',
        object: 'audit_event',
        action: 'api_key.updated',
        organization_id: 'org_01k5f0000000000000000000aa',
        actor: 'key_01k5f0000000000000000000aa',
        actor_name: 'deploy',
        address: '127.0.0.1',
        request_id: 'req_01k5f0000000000000000000aa',
        resource_type: 'api_key',
        resource_id: 'key_01k5f0000000000000000000ab',
        changes: [{ field: 'name', from: 'chatbot', to: 'Support chatbot' }],
        created_at: 1_763_683_200,
      },
    ],
  },
);

export type AuditEvent = Static<typeof AuditEvent>;

/** PostgreSQL rejects NUL characters, which no id has. */
const Id = (description: string) => Type.String({ pattern: '^[a-z0-9_-]{1,64}$', [MUST]: 'be an id', description });

/** Query parameters of `GET /v1/admin/audit`. */
export const AuditQuery = Type.Object({
  ...ListQuery.properties,
  organization_id: Type.Optional(Id('The organization that owns the resource.')),
  actor: Type.Optional(Id('Id of a key or user, `cli` or `service`.')),
  action: Type.Optional(Type.Enum(AUDIT_ACTIONS)),
  resource_id: Type.Optional(Id('Id of the changed resource.')),
  order: ListOrder,
  start_time: Type.Optional(Type.Integer({ minimum: 0, maximum: 253_402_300_799, description: 'Unix seconds.' })),
  end_time: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 253_402_300_799, description: 'Unix seconds, exclusive.' }),
  ),
});

export type AuditQuery = Static<typeof AuditQuery>;

titleSchemas({ AuditEvent });
