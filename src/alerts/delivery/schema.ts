import { type Static, Type } from 'typebox';
import { deletedSchema } from '../../db/page.ts';
import { Nullable, UnixSeconds } from '../../http/schema-types.ts';
import { MUST } from '../../http/validation.ts';
import { titleSchemas } from '../../lib/title-schemas.ts';
import { CHANNEL_TYPES } from './tables.ts';

/** An email address without a display name. Excludes characters that could end a mail header. */
const Address = Type.String({
  maxLength: 254,
  pattern: '^[^\\s@<>,;:"()\\u0000-\\u001f]+@[^\\s@<>,;:"()\\u0000-\\u001f]+$',
  [MUST]: 'be an email address such as ada@example.com',
});

const Name = Type.String({
  minLength: 1,
  maxLength: 64,
  pattern: '^[^\\u0000]*$',
  [MUST]: 'contain no NUL characters',
});

const target = {
  addresses: Type.Optional(
    Type.Array(Address, { minItems: 1, maxItems: 20, description: 'Recipients. Required for the type `email`.' }),
  ),
  url: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 2_048,
      description: 'URL (http or https). Required for the type `webhook`.',
    }),
  ),
};

/** Body of `POST /v1/alert-channels`. */
export const CreateAlertChannel = Type.Object(
  {
    type: Type.Enum(CHANNEL_TYPES),
    name: Name,
    ...target,
    instance_alerts: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'Whether the channel also receives alerts of the instance. Requires the scope `admin`.',
      }),
    ),
  },
  { examples: [{ type: 'webhook', name: 'Pager', url: 'https://hooks.example/quire' }] },
);

export type CreateAlertChannel = Static<typeof CreateAlertChannel>;

/** Body of `PATCH /v1/alert-channels/{channel_id}`: the fields to change. */
export const UpdateAlertChannel = Type.Object(
  {
    name: Type.Optional(Name),
    ...target,
    instance_alerts: Type.Optional(Type.Boolean()),
    rotate_secret: Type.Optional(
      Type.Boolean({
        description: 'Whether to replace the secret of a webhook. Messages are no longer signed with the old one.',
      }),
    ),
  },
  {
    description: 'Absent fields keep their values. The type cannot be changed.',
    examples: [{ name: 'Pager of the team' }],
  },
);

export type UpdateAlertChannel = Static<typeof UpdateAlertChannel>;

const channel = {
  id: Type.String({ description: '`channel_...`' }),
  object: Type.Literal('alert_channel'),
  type: Type.Enum(CHANNEL_TYPES),
  name: Type.String(),
  addresses: Type.Array(Type.String()),
  url: Nullable(Type.String()),
  instance_alerts: Type.Boolean(),
  created_at: UnixSeconds,
};

/** A channel. */
export const AlertChannelResource = Type.Object(channel);

export type AlertChannelResource = Static<typeof AlertChannelResource>;

/** A channel with its secret, if it was created or replaced by the request. */
export const AlertChannelWithSecret = Type.Object({
  ...channel,
  secret: Nullable(
    Type.String(),
    'Secret that signs the messages of a webhook (`whsec_...`, Standard Webhooks). Returned only once, when it is created or replaced; otherwise, and for email, null.',
  ),
});

export type AlertChannelWithSecret = Static<typeof AlertChannelWithSecret>;

/** A message to a channel. */
export const AlertDeliveryResource = Type.Object({
  id: Type.String({ description: '`delivery_...`. Sent as `webhook-id`; all attempts have the same id.' }),
  object: Type.Literal('alert_delivery'),
  event: Type.Enum(['alert.opened', 'alert.resolved', 'alert.test']),
  summary: Type.String({ description: '`summary` of the alert.' }),
  status: Type.Enum(['pending', 'delivered', 'failed'], {
    description: '`pending`: the message is queued or will be retried.',
  }),
  attempts: Type.Integer(),
  last_error: Nullable(Type.String()),
  created_at: UnixSeconds,
  attempted_at: Nullable(UnixSeconds, 'End of the last attempt in Unix seconds.'),
});

export type AlertDeliveryResource = Static<typeof AlertDeliveryResource>;

/** Path of one channel. */
export const AlertChannelParams = Type.Object({ channel_id: Type.String() });

/** Answer of `DELETE /v1/alert-channels/{channel_id}`. */
export const DeletedAlertChannel = deletedSchema('alert_channel');

titleSchemas({
  CreateAlertChannel,
  UpdateAlertChannel,
  AlertChannelResource,
  AlertChannelWithSecret,
  AlertDeliveryResource,
  DeletedAlertChannel,
});
