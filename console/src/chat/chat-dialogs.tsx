import { useState } from 'react';
import { api, body } from '../api/client.ts';
import { AutocompleteField, TextField } from '../ui/fields.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import type { Chat } from './group-chats.ts';
import { useChatMessages } from './messages.ts';
import { CHAT_QUERIES, FOLDER_PATH, useFolders } from './use-chats.ts';

const MAX_NAME = 100;

/** Renames a folder. */
export function RenameFolderDialog({ name: before, onClose }: { name: string; onClose(): void }) {
  const messages = useChatMessages();
  const [name, setName] = useState(before);
  const params = { path: { folder: before } };
  return (
    <FormDialog
      title={messages.renameFolder}
      submitLabel={messages.rename}
      onClose={onClose}
      refreshes={CHAT_QUERIES}
      submit={() => body(api.PATCH(FOLDER_PATH, { params, body: { name: name.trim() } }))}
    >
      <TextField
        label={messages.folder}
        param="name"
        required
        maxLength={MAX_NAME}
        data-autofocus
        value={name}
        onChange={setName}
      />
    </FormDialog>
  );
}

/** Dialog that moves a chat to an existing or new folder, or out of its folder. */
export function MoveDialog({ chat, onClose }: { chat: Chat; onClose(): void }) {
  const messages = useChatMessages();
  const folders = useFolders();
  const [name, setName] = useState(chat.folder ?? '');
  const params = { path: { chat_id: chat.id } };
  const folder = name.trim() === '' ? null : name.trim();
  return (
    <FormDialog
      title={messages.moveTitle}
      submitLabel={messages.moveSubmit}
      onClose={onClose}
      refreshes={CHAT_QUERIES}
      submit={() => body(api.PATCH('/v1/chats/{chat_id}', { params, body: { folder } }))}
    >
      <AutocompleteField
        label={messages.folder}
        description={messages.folderHint}
        param="folder"
        maxLength={MAX_NAME}
        data-autofocus
        data={(folders.data?.data ?? []).map((each) => each.name)}
        value={name}
        onChange={setName}
      />
    </FormDialog>
  );
}

/** Renames a chat. */
export function RenameDialog({ chat, onClose }: { chat: Chat; onClose(): void }) {
  const messages = useChatMessages();
  const [title, setTitle] = useState(chat.title);
  const params = { path: { chat_id: chat.id } };
  return (
    <FormDialog
      title={messages.renameTitle}
      submitLabel={messages.rename}
      onClose={onClose}
      refreshes={CHAT_QUERIES}
      submit={() => api.PATCH('/v1/chats/{chat_id}', { params, body: { title: title.trim() } })}
    >
      <TextField
        label={messages.name}
        param="title"
        required
        maxLength={200}
        data-autofocus
        value={title}
        onChange={setTitle}
      />
    </FormDialog>
  );
}
