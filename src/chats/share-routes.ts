import { ListQuery, listSchema } from '../db/page.ts';
import type { App } from '../http/app.ts';
import { toCall } from '../http/auth.ts';
import type { BackgroundDeps } from '../responses/run-background.ts';
import { ChatParams } from './schema.ts';
import { deleteShare, getShare, getSharedChat, listSharedMessages, shareChat } from './share-chat.ts';
import { ChatShare, DeletedChatShare, SharedChat, SharedChatMessage, SharedChatParams } from './share-schema.ts';

const tags = ['Chats'];
const config = { scope: 'inference', openToViewers: true, rateClass: 'general' } as const;
const PATH = '/v1/chats/:chat_id/share';

/** Routes of the link of a chat and of shared chats. */
export function chatShareRoutes(app: App, deps: BackgroundDeps): void {
  const response = { 200: ChatShare };
  app.post(
    PATH,
    {
      schema: {
        summary: 'Share a chat',
        description:
          'Creates a link for the members of the organization. It shows the current branch of the chat, without later messages. A chat has one link: sharing again keeps the link and updates the branch. The link is revoked by `DELETE`, when the chat is deleted, and when its owner leaves the organization.',
        tags,
        params: ChatParams,
        response,
      },
      config,
    },
    async (request) => shareChat(deps, toCall(request), request.params.chat_id),
  );
  app.get(
    PATH,
    { schema: { summary: 'Get the link of a chat', tags, params: ChatParams, response }, config },
    async (request) => getShare(deps, toCall(request), request.params.chat_id),
  );
  app.delete(
    PATH,
    {
      schema: { summary: 'Revoke the link of a chat', tags, params: ChatParams, response: { 200: DeletedChatShare } },
      config,
    },
    async (request) => deleteShare(deps, toCall(request), request.params.chat_id),
  );
  sharedRoutes(app, deps);
}

function sharedRoutes(app: App, deps: BackgroundDeps): void {
  const params = SharedChatParams;
  app.get(
    '/v1/shared-chats/:share_id',
    { schema: { summary: 'Get a shared chat', tags, params, response: { 200: SharedChat } }, config },
    async (request) => getSharedChat(deps, toCall(request), request.params.share_id),
  );
  app.get(
    '/v1/shared-chats/:share_id/messages',
    {
      schema: {
        summary: 'List the messages of a shared chat',
        description:
          'Returns the messages and answers of the shared branch. Citations of knowledge bases that you may not read are omitted.',
        tags,
        params,
        querystring: ListQuery,
        response: { 200: listSchema(SharedChatMessage) },
      },
      config,
    },
    async (request) => listSharedMessages(deps, toCall(request), request.params.share_id, request.query),
  );
}
