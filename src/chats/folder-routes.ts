import { notFound } from '../errors.ts';
import type { App } from '../http/app.ts';
import { toCall } from '../http/auth.ts';
import type { Call } from '../lib/caller.ts';
import type { BackgroundDeps } from '../responses/run-background.ts';
import { storable } from './manage-chats.ts';
import { ChatFolderList, ChatFolderParams, MovedChats, RenameChatFolder } from './schema.ts';
import { moveFolder, selectFolders } from './store.ts';

type FolderDeps = Pick<BackgroundDeps, 'db'>;

const tags = ['Chats'];
const config = { scope: 'inference', openToViewers: true, rateClass: 'general' } as const;
const response = { 200: MovedChats };

/** `/v1/chat-folders`: folders of the caller's chats. */
export function chatFolderRoutes(app: App, deps: FolderDeps): void {
  const params = ChatFolderParams;
  app.get(
    '/v1/chat-folders',
    { schema: { summary: 'List the folders of your chats', tags, response: { 200: ChatFolderList } }, config },
    async (request) => listFolders(deps, toCall(request)),
  );
  app.patch(
    '/v1/chat-folders/:folder',
    {
      schema: {
        summary: 'Rename a folder of chats',
        description: 'If a folder with the new name exists, the chats move to that folder.',
        tags,
        params,
        body: RenameChatFolder,
        response,
      },
      config,
    },
    async (request) => moveChats(deps, toCall(request), request.params.folder, storable(request.body.name, 'name')),
  );
  app.delete(
    '/v1/chat-folders/:folder',
    {
      schema: {
        summary: 'Delete a folder of chats',
        description: 'Keeps the chats of the folder.',
        tags,
        params,
        response,
      },
      config,
    },
    async (request) => moveChats(deps, toCall(request), request.params.folder, null),
  );
}

async function listFolders({ db }: FolderDeps, { caller }: Call): Promise<ChatFolderList> {
  const folders = await selectFolders(db.sql, caller);
  const data = folders.map(({ name, chatCount }) => ({ object: 'chat.folder' as const, name, chat_count: chatCount }));
  return { object: 'list', data };
}

/** Throws 404 `chat_folder_not_found` unless the caller has chats in the folder. */
async function moveChats({ db }: FolderDeps, { caller }: Call, from: string, to: string | null): Promise<MovedChats> {
  const count = from.includes('\u0000') ? 0 : await moveFolder(db.sql, caller, from, to);
  if (count === 0) throw notFound('chat_folder', from, 'folder');
  return { object: 'chat.folder', name: to, moved_count: count };
}
