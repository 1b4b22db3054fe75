import { ListQuery, listSchema } from '../db/page.ts';
import { sendFile } from '../files/routes.ts';
import type { App } from '../http/app.ts';
import { toCall } from '../http/auth.ts';
import { disconnectSignal } from '../http/event-stream.ts';
import { respondOnce } from '../http/idempotency/streamed.ts';
import type { BackgroundDeps } from '../responses/run-background.ts';
import { type AttachDeps, attachFile, identifyAttachment } from './attach-file.ts';
import { AttachmentForm, ChatAttachment, ChatAttachmentParams, DeletedChatAttachment } from './attachment-schema.ts';
import { deleteAttachment, findAttachedFile, listAttachments } from './attachments.ts';
import type { ChatHistoryDeps } from './manage-chats.ts';
import { ChatParams } from './schema.ts';

const tags = ['Chats'];
const config = { scope: 'inference', openToViewers: true, rateClass: 'general' } as const;

/** `/v1/chats/{chat_id}/attachments`: files of a chat. Only the owner of the chat has access. */
export function chatAttachmentRoutes(app: App, deps: BackgroundDeps & AttachDeps & ChatHistoryDeps): void {
  // Own scope: the content type parser below must not affect other routes.
  app.register(async (scope) => attachRoute(scope as unknown as App, deps));
  app.get(
    '/v1/chats/:chat_id/attachments',
    {
      schema: {
        summary: 'List the attachments of a chat',
        description: 'Returns the attachments with the state of their ingestion.',
        tags,
        params: ChatParams,
        querystring: ListQuery,
        response: { 200: listSchema(ChatAttachment) },
      },
      config,
    },
    async (request) => listAttachments(deps, toCall(request), request.params.chat_id, request.query),
  );
  app.delete(
    '/v1/chats/:chat_id/attachments/:attachment_id',
    {
      schema: {
        summary: 'Delete an attachment of a chat',
        description: 'Also deletes the file and its document. Messages keep the name of the file.',
        tags,
        params: ChatAttachmentParams,
        response: { 200: DeletedChatAttachment },
      },
      config,
    },
    async (request) => deleteAttachment(deps, toCall(request), request.params),
  );
  app.get(
    '/v1/chats/:chat_id/attachments/:attachment_id/content',
    {
      schema: {
        summary: 'Download an attachment of a chat',
        description: 'Supports `Range` (one range), `If-Range` and `If-None-Match`.',
        tags,
        params: ChatAttachmentParams,
        response: { 200: BINARY, 206: BINARY },
      },
      config,
    },
    async (request, reply) =>
      sendFile(deps, await findAttachedFile(deps, toCall(request), request.params), request, reply),
  );
}

const BINARY = {
  description: 'The file, or a range of it.',
  content: { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } },
} as const;

function attachRoute(app: App, deps: AttachDeps): void {
  // The handler reads the raw body; `readForm` checks its content type.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  app.post(
    '/v1/chats/:chat_id/attachments',
    {
      schema: {
        summary: 'Attach a file to a chat',
        description:
          'Takes a multipart form with the field `file`. Images require a model with the capability `vision`. Other files become documents that only this chat searches. Messages can include a file when its `status` is `ready`.',
        tags,
        consumes: ['multipart/form-data'],
        params: ChatParams,
        body: AttachmentForm,
        response: { 200: ChatAttachment },
      },
      config: { ...config, idempotent: 'streamed', rateClass: 'uploads' },
      validatorCompiler: () => () => true,
    },
    async (request, reply) => {
      const call = toCall(request);
      const { chat_id: chatId } = request.params;
      const signal = disconnectSignal(reply);
      return respondOnce(deps, request, reply, {
        perform: async () => {
          const { attachment, identity } = await attachFile(deps, call, { chatId, source: request.raw }, signal);
          return { response: attachment, identity };
        },
        identify: () => identifyAttachment(request.raw, signal),
      });
    },
  );
}
