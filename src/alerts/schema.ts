import { type Static, Type } from 'typebox';
import { ListOrder, ListQuery } from '../db/page.ts';
import { Nullable, UnixSeconds } from '../http/schema-types.ts';
import { titleSchemas } from '../lib/title-schemas.ts';
import { ALERT_KINDS } from './tables.ts';

/** An alert. */
export const AlertResource = Type.Object(
  {
    id: Type.String({ description: '`alert_...`' }),
    object: Type.Literal('alert'),
    kind: Type.Enum(ALERT_KINDS),
    organization_id: Nullable(Type.String(), 'Null for alerts of the instance, which only operators can see.'),
    status: Type.Enum(['open', 'resolved'], { description: '`resolved`: the cause has ended.' }),
    resource_id: Type.String({ description: 'Id of the data source or budget, or URL of the server.' }),
    name: Type.String({ description: 'Name of the data source, budget or server.' }),
    summary: Type.String({ description: 'What happened, in English.' }),
    consequence: Type.String(),
    next_step: Type.String(),
    path: Type.String({ description: 'Page of the console that shows the cause.' }),
    details: Type.Object({
      error: Nullable(Type.String()),
      models: Nullable(Type.Array(Type.String())),
      since: Nullable(UnixSeconds),
      threshold_percent: Nullable(Type.Integer()),
      amount_micros: Nullable(Type.Integer()),
      is_enforced: Nullable(Type.Boolean()),
    }),
    created_at: UnixSeconds,
    acknowledged_at: Nullable(UnixSeconds),
    acknowledged_by: Nullable(Type.String(), 'Id of the user or key.'),
    resolved_at: Nullable(UnixSeconds),
  },
  {
    examples: [
      {
        id: 'alert_01k5f0000000000000000000aa',
        object: 'alert',
        kind: 'sync_failed',
        organization_id: 'org_01k5f0000000000000000000aa',
        status: 'open',
        resource_id: 'ds_01k5f0000000000000000000aa',
        name: 'Wiki',
        summary: "The sync of the data source 'Wiki' failed: The server answered with status 401.",
        consequence: 'Searches and answers use the documents of its last successful sync.',
        next_step: 'Correct the settings or credentials of the data source, then sync it again.',
        path: '/knowledge-bases/kb_01k5f0000000000000000000aa?tab=sources',
        details: {
          error: 'The server answered with status 401.',
          models: null,
          since: null,
          threshold_percent: null,
          amount_micros: null,
          is_enforced: null,
        },
        created_at: 1_773_000_000,
        acknowledged_at: null,
        acknowledged_by: null,
        resolved_at: null,
      },
    ],
  },
);

export type AlertResource = Static<typeof AlertResource>;

/** Query of `GET /v1/alerts`. */
export const AlertsQuery = Type.Object({
  ...ListQuery.properties,
  order: ListOrder,
  status: Type.Optional(Type.Enum(['open', 'resolved'], { description: 'Default: open and resolved alerts.' })),
});

export type AlertsQuery = Static<typeof AlertsQuery>;

/** Path of one alert. */
export const AlertParams = Type.Object({ alert_id: Type.String() });

titleSchemas({ AlertResource });
