import { Readable } from 'node:stream';
import { ListQuery, listSchema } from '../db/page.ts';
import { invalidValue } from '../errors.ts';
import { attachment } from '../files/content-response.ts';
import type { App } from '../http/app.ts';
import { toCall } from '../http/auth.ts';
import { disconnectSignal, sendEvents } from '../http/event-stream.ts';
import { streamed } from '../http/openapi.ts';
import { ResponseEvent } from '../responses/event-schema.ts';
import type { BackgroundDeps } from '../responses/run-background.ts';
import type { AttachDeps } from './attach-file.ts';
import { chatAttachmentRoutes } from './attachment-routes.ts';
import { getChatSettings, updateChatSettings } from './chat-settings.ts';
import { exportChat } from './export-chat.ts';
import { chatFeedbackRoutes } from './feedback-routes.ts';
import { chatFolderRoutes } from './folder-routes.ts';
import { type ChatHistoryDeps, createChat, deleteChat, getChat, listChats, updateChat } from './manage-chats.ts';
import { cancelMessage, followMessage, getMessage, listMessages } from './read-messages.ts';
import {
  ChatExport,
  ChatExportQuery,
  ChatHistorySettings,
  ChatListQuery,
  ChatMessageParams,
  ChatMessageResource,
  ChatParams,
  ChatResource,
  CreateChat,
  DeletedChat,
  GetChatMessageQuery,
  SendChatMessage,
  UpdateChat,
  UpdateChatHistorySettings,
} from './schema.ts';
import { sendMessage } from './send-message.ts';
import { chatShareRoutes } from './share-routes.ts';

const tags = ['Chats'];
/** A chat is its owner's own: viewers of the organization have chats, too. */
const personal = { scope: 'inference', openToViewers: true } as const;
const config = { ...personal, rateClass: 'general' } as const;
const response = { 200: ChatResource };
const message = { 200: streamed(ChatMessageResource, ResponseEvent) };

/** Sequence numbers start at 0. */
const FROM_START = -1;

/** `/v1/chats`: chats of the console, which only their owner sees. */
export function chatHistoryRoutes(app: App, deps: BackgroundDeps & AttachDeps & ChatHistoryDeps): void {
  listRoutes(app, deps);
  oneChatRoutes(app, deps);
  exportRoute(app, deps);
  settingsRoutes(app, deps);
  messageRoutes(app, deps);
  oneMessageRoutes(app, deps);
  chatAttachmentRoutes(app, deps);
  chatFolderRoutes(app, deps);
  chatShareRoutes(app, deps);
  chatFeedbackRoutes(app, deps);
}

function listRoutes(app: App, deps: BackgroundDeps): void {
  app.post(
    '/v1/chats',
    {
      schema: {
        summary: 'Create a chat',
        description: 'A chat is private to the user or key that creates it.',
        tags,
        body: CreateChat,
        response,
      },
      config: { ...config, idempotent: true },
    },
    async (request) => createChat(deps, toCall(request), request.body),
  );
  app.get(
    '/v1/chats',
    {
      schema: {
        summary: 'List your chats',
        description: 'Returns pinned chats first, then the other chats by their newest message.',
        tags,
        querystring: ChatListQuery,
        response: { 200: listSchema(ChatResource) },
      },
      config,
    },
    async (request) => listChats(deps, toCall(request), request.query),
  );
}

function oneChatRoutes(app: App, deps: ChatHistoryDeps): void {
  const params = ChatParams;
  app.get(
    '/v1/chats/:chat_id',
    { schema: { summary: 'Get a chat', tags, params, response }, config },
    async (request) => getChat(deps, toCall(request), request.params.chat_id),
  );
  app.patch(
    '/v1/chats/:chat_id',
    { schema: { summary: 'Change a chat', tags, params, body: UpdateChat, response }, config },
    async (request) => updateChat(deps, toCall(request), request.params.chat_id, request.body),
  );
  app.delete(
    '/v1/chats/:chat_id',
    {
      schema: {
        summary: 'Delete a chat',
        description: 'Also deletes its messages, answers and attachments. Stops running answers.',
        tags,
        params,
        response: { 200: DeletedChat },
      },
      config,
    },
    async (request) => deleteChat(deps, toCall(request), request.params.chat_id),
  );
}

function settingsRoutes(app: App, deps: BackgroundDeps): void {
  const settings = { 200: ChatHistorySettings };
  app.get(
    '/v1/chat-settings',
    { schema: { summary: 'Get the settings of chats', tags, response: settings }, config },
    async (request) => getChatSettings(deps, toCall(request)),
  );
  app.patch(
    '/v1/chat-settings',
    {
      schema: {
        summary: 'Change the settings of chats',
        description: 'Requires an owner of the organization.',
        tags,
        body: UpdateChatHistorySettings,
        response: settings,
      },
      config: { scope: 'keys' },
    },
    async (request) => updateChatSettings(deps, toCall(request), request.body),
  );
}

function exportRoute(app: App, deps: BackgroundDeps): void {
  const text = { schema: { type: 'string' } };
  app.get(
    '/v1/chats/:chat_id/export',
    {
      schema: {
        summary: 'Export a chat',
        description: 'Returns a file with the current state of the answers.',
        tags,
        params: ChatParams,
        querystring: ChatExportQuery,
        response: {
          200: {
            description: 'The file.',
            content: { 'application/json': { schema: ChatExport }, 'text/markdown': text },
          },
        },
      },
      config,
    },
    async (request, reply) => {
      const { chat_id: id } = request.params;
      const file = await exportChat(deps, toCall(request), id, request.query.format ?? 'json');
      return reply
        .type(file.mediaType)
        .header('content-disposition', attachment(file.name))
        .header('cache-control', 'private, no-store')
        .send(Readable.from(file.content));
    },
  );
}

function messageRoutes(app: App, deps: BackgroundDeps): void {
  const params = ChatParams;
  app.get(
    '/v1/chats/:chat_id/messages',
    {
      schema: {
        summary: 'List the messages of a chat',
        description: 'Returns the messages of all branches, oldest first, with the current state of their answers.',
        tags,
        params,
        querystring: ListQuery,
        response: { 200: listSchema(ChatMessageResource) },
      },
      config,
    },
    async (request) => listMessages(deps, toCall(request), request.params.chat_id, request.query),
  );
  app.post(
    '/v1/chats/:chat_id/messages',
    {
      schema: {
        summary: 'Send a message',
        description:
          'The answer is a background response, which continues if the client disconnects. With `stream: true`, returns its events as in `POST /v1/responses`.',
        tags,
        params,
        body: SendChatMessage,
        response: message,
        operationId: 'sendChatMessage',
      },
      config: personal,
    },
    async (request, reply) => {
      const { body, rateLease } = request;
      const call = toCall(request);
      const { chat_id } = request.params;
      const reservedTokens = rateLease?.reservedTokens ?? 0;
      const sent = await sendMessage(deps, call, chat_id, { message: body, reservedTokens });
      rateLease?.keepTokens();
      if (!body.stream) return sent;
      const path = { chat_id, message_id: sent.id };
      const signal = disconnectSignal(reply);
      return sendEvents(reply, await followMessage(deps, call, { path, after: FROM_START }, signal));
    },
  );
}

function oneMessageRoutes(app: App, deps: BackgroundDeps): void {
  const params = ChatMessageParams;
  app.get(
    '/v1/chats/:chat_id/messages/:message_id',
    {
      schema: {
        summary: 'Get a message of a chat',
        description: 'With `stream=true`, returns the events of the answer, for a day after the message was sent.',
        tags,
        params,
        querystring: GetChatMessageQuery,
        response: message,
      },
      config,
    },
    async (request, reply) => {
      const call = toCall(request);
      const { params: path, query } = request;
      const { stream = false, starting_after: after } = query;
      if (!stream && after !== undefined) throw invalidValue('starting_after', "needs 'stream'");
      if (!stream) return getMessage(deps, call, path);
      const from = { path, after: after ?? FROM_START };
      return sendEvents(reply, await followMessage(deps, call, from, disconnectSignal(reply)));
    },
  );
  app.post(
    '/v1/chats/:chat_id/messages/:message_id/cancel',
    {
      schema: {
        summary: 'Stop the answer to a message',
        description: 'Keeps the text so far. Completed answers are returned unchanged.',
        tags,
        params,
        response: { 200: ChatMessageResource },
      },
      config,
    },
    async (request) => cancelMessage(deps, toCall(request), request.params),
  );
}
