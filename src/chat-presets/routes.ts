import { ListQuery, listSchema } from '../db/page.ts';
import type { App } from '../http/app.ts';
import { toCall } from '../http/auth.ts';
import { createPreset, deletePreset, getPreset, listPresets, type PresetDeps, updatePreset } from './manage-presets.ts';
import {
  ChatPresetParams,
  ChatPresetResource,
  CreateChatPreset,
  DeletedChatPreset,
  UpdateChatPreset,
} from './schema.ts';

const tags = ['Chats'];
const readConfig = { scope: 'inference', rateClass: 'general' } as const;
/** The use cases check that the caller is an owner. */
const config = { scope: 'keys' } as const;
const params = ChatPresetParams;
const response = { 200: ChatPresetResource };

/** `/v1/chat-presets`: settings of chats that owners publish. */
export function chatPresetRoutes(app: App, deps: PresetDeps): void {
  listRoutes(app, deps);
  onePresetRoutes(app, deps);
}

function listRoutes(app: App, deps: PresetDeps): void {
  app.post(
    '/v1/chat-presets',
    {
      schema: {
        summary: 'Create a preset of chats',
        description: 'Only owners of the organization can create presets. Members see a preset after it is published.',
        tags,
        body: CreateChatPreset,
        response,
      },
      config: { ...config, idempotent: true },
    },
    async (request) => createPreset(deps, toCall(request), request.body),
  );
  app.get(
    '/v1/chat-presets',
    {
      schema: {
        summary: 'List the presets of chats',
        description:
          'Returns presets in the order that owners have set. Members see only published presets, without their instructions.',
        tags,
        querystring: ListQuery,
        response: { 200: listSchema(ChatPresetResource) },
      },
      config: readConfig,
    },
    async (request) => listPresets(deps, toCall(request), request.query),
  );
}

function onePresetRoutes(app: App, deps: PresetDeps): void {
  app.get(
    '/v1/chat-presets/:preset_id',
    { schema: { summary: 'Get a preset of chats', tags, params, response }, config: readConfig },
    async (request) => getPreset(deps, toCall(request), request.params.preset_id),
  );
  app.patch(
    '/v1/chat-presets/:preset_id',
    {
      schema: {
        summary: 'Change a preset of chats',
        description:
          'Only owners can change presets. The change applies to the next message of every chat with this preset.',
        tags,
        params,
        body: UpdateChatPreset,
        response,
      },
      config,
    },
    async (request) => updatePreset(deps, toCall(request), request.params.preset_id, request.body),
  );
  app.delete(
    '/v1/chat-presets/:preset_id',
    {
      schema: {
        summary: 'Delete a preset of chats',
        description: 'Only owners can delete presets. Chats with this preset continue without it.',
        tags,
        params,
        response: { 200: DeletedChatPreset },
      },
      config,
    },
    async (request) => deletePreset(deps, toCall(request), request.params.preset_id),
  );
}
