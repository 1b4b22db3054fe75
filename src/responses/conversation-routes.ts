import type { App } from '../http/app.ts';
import { toCall } from '../http/auth.ts';
import {
  AddConversationItems,
  ConversationItemList,
  ConversationItemParams,
  ConversationItemQuery,
  ConversationItemView,
  ConversationParams,
  ConversationResource,
  CreateConversation,
  DeletedConversation,
  UpdateConversation,
} from './conversation-schema.ts';
import { InputItemsQuery } from './input-items-schema.ts';
import {
  addConversationItems,
  type ConversationDeps,
  createConversation,
  deleteConversation,
  getConversation,
  getConversationItem,
  listConversationItems,
  removeConversationItem,
  updateConversation,
} from './manage-conversations.ts';

const tags = ['Conversations'];
const config = { scope: 'inference', rateClass: 'general' } as const;
const params = ConversationParams;

/** Routes of `/v1/conversations`. */
export function conversationRoutes(app: App, deps: ConversationDeps): void {
  app.post(
    '/v1/conversations',
    {
      schema: {
        summary: 'Create a conversation',
        description:
          'Responses with this conversation read its items and append their input and output. A conversation is deleted 24 hours after its last use.',
        tags,
        body: CreateConversation,
        response: { 200: ConversationResource },
      },
      config: { ...config, idempotent: true },
    },
    async (request) => createConversation(deps, toCall(request), request.body),
  );
  app.get(
    '/v1/conversations/:conversation_id',
    { schema: { summary: 'One conversation', tags, params, response: { 200: ConversationResource } }, config },
    async (request) => getConversation(deps, toCall(request), request.params.conversation_id),
  );
  app.post(
    '/v1/conversations/:conversation_id',
    {
      schema: {
        summary: 'Replace the metadata of a conversation',
        tags,
        params,
        body: UpdateConversation,
        response: { 200: ConversationResource },
        operationId: 'updateConversation',
      },
      config,
    },
    async (request) => updateConversation(deps, toCall(request), request.params.conversation_id, request.body),
  );
  app.delete(
    '/v1/conversations/:conversation_id',
    { schema: { summary: 'Delete a conversation', tags, params, response: { 200: DeletedConversation } }, config },
    async (request) => deleteConversation(deps, toCall(request), request.params.conversation_id),
  );
  itemRoutes(app, deps);
}

function itemRoutes(app: App, deps: ConversationDeps): void {
  app.get(
    '/v1/conversations/:conversation_id/items',
    {
      schema: {
        summary: 'List the items of a conversation',
        tags,
        params,
        querystring: InputItemsQuery,
        response: { 200: ConversationItemList },
      },
      config,
    },
    async (request) => listConversationItems(deps, toCall(request), request.params.conversation_id, request.query),
  );
  app.post(
    '/v1/conversations/:conversation_id/items',
    {
      schema: {
        summary: 'Add items to a conversation',
        description: 'At most 20 items.',
        tags,
        params,
        body: AddConversationItems,
        response: { 200: ConversationItemList },
      },
      config: { ...config, idempotent: true },
    },
    async (request) => addConversationItems(deps, toCall(request), request.params.conversation_id, request.body),
  );
  app.get(
    '/v1/conversations/:conversation_id/items/:item_id',
    {
      schema: {
        summary: 'One item of a conversation',
        tags,
        params: ConversationItemParams,
        querystring: ConversationItemQuery,
        response: { 200: ConversationItemView },
      },
      config,
    },
    async (request) =>
      getConversationItem(deps, toCall(request), request.params.conversation_id, request.params.item_id),
  );
  app.delete(
    '/v1/conversations/:conversation_id/items/:item_id',
    {
      schema: {
        summary: 'Delete an item of a conversation',
        tags,
        params: ConversationItemParams,
        response: { 200: ConversationResource },
      },
      config,
    },
    async (request) =>
      removeConversationItem(deps, toCall(request), request.params.conversation_id, request.params.item_id),
  );
}
