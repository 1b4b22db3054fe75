import { ListQuery, listSchema } from '../../db/page.ts';
import type { App } from '../../http/app.ts';
import { toCall } from '../../http/auth.ts';
import {
  type ChannelDeps,
  createChannel,
  deleteChannel,
  listChannels,
  listDeliveries,
  testChannel,
  updateChannel,
} from './manage-channels.ts';
import {
  AlertChannelParams,
  AlertChannelResource,
  AlertChannelWithSecret,
  AlertDeliveryResource,
  CreateAlertChannel,
  DeletedAlertChannel,
  UpdateAlertChannel,
} from './schema.ts';

const tags = ['Alerts'];
const config = { scope: 'keys' } as const;
const params = AlertChannelParams;

/** `/v1/alert-channels`: destinations of alerts. */
export function alertChannelRoutes(app: App, deps: ChannelDeps): void {
  app.post(
    '/v1/alert-channels',
    {
      schema: {
        summary: 'Create a channel for alerts',
        description:
          'A channel sends alerts by email, through the configured mail server, or to a webhook with signatures of the Standard Webhooks specification. Each alert of the organization is sent at least once when it opens and when it is resolved.',
        tags,
        body: CreateAlertChannel,
        response: { 200: AlertChannelWithSecret },
      },
      config: { ...config, idempotent: 'sealed' },
    },
    async (request) => createChannel(deps, toCall(request), request.body),
  );
  app.get(
    '/v1/alert-channels',
    {
      schema: {
        summary: 'List the channels for alerts',
        tags,
        querystring: ListQuery,
        response: { 200: listSchema(AlertChannelResource) },
      },
      config,
    },
    async (request) => listChannels(deps, toCall(request), request.query),
  );
  channelRoutes(app, deps);
  deliveryRoutes(app, deps);
}

function channelRoutes(app: App, deps: ChannelDeps): void {
  app.patch(
    '/v1/alert-channels/:channel_id',
    {
      schema: {
        summary: 'Change a channel for alerts',
        description:
          'Pending messages are sent to the new target. Channels that receive alerts of the instance require the scope `admin`.',
        tags,
        params,
        body: UpdateAlertChannel,
        response: { 200: AlertChannelWithSecret },
      },
      config: { ...config, idempotent: 'sealed' },
    },
    async (request) => updateChannel(deps, toCall(request), request.params.channel_id, request.body),
  );
  app.delete(
    '/v1/alert-channels/:channel_id',
    {
      schema: {
        summary: 'Delete a channel for alerts',
        description: 'Queued messages are not sent.',
        tags,
        params,
        response: { 200: DeletedAlertChannel },
      },
      config,
    },
    async (request) => deleteChannel(deps, toCall(request), request.params.channel_id),
  );
}

function deliveryRoutes(app: App, deps: ChannelDeps): void {
  app.post(
    '/v1/alert-channels/:channel_id/test',
    {
      schema: {
        summary: 'Send a test to a channel',
        description: 'Queues a test message. Its status is in the deliveries of the channel.',
        tags,
        params,
        response: { 200: AlertDeliveryResource },
      },
      config: { ...config, idempotent: true },
    },
    async (request) => testChannel(deps, toCall(request), request.params.channel_id),
  );
  app.get(
    '/v1/alert-channels/:channel_id/deliveries',
    {
      schema: {
        summary: 'List the deliveries to a channel',
        description: 'Returns the deliveries of the last 90 days, newest first.',
        tags,
        params,
        querystring: ListQuery,
        response: { 200: listSchema(AlertDeliveryResource) },
      },
      config,
    },
    async (request) => listDeliveries(deps, toCall(request), request.params.channel_id, request.query),
  );
}
