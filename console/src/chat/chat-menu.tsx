import { Menu } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../api/client.ts';
import { useRefresh } from '../api/refresh.ts';
import { ConfirmButton, RowButton } from '../ui/confirm.tsx';
import { TextField } from '../ui/fields.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { RowMenu } from '../ui/row-menu.tsx';
import type { Chat } from './group-chats.ts';
import { useChatMessages } from './messages.ts';

/** Queries that show properties of chats. */
const CHAT_QUERIES = ['chats', 'chat'] as const;

const EXPORTS = [
  { format: 'markdown', label: 'exportMarkdown' },
  { format: 'json', label: 'exportJson' },
] as const;

/** What can be done with a chat. */
export function ChatMenu({ chat, isOpen }: { chat: Chat; isOpen: boolean }) {
  const messages = useChatMessages();
  const common = useCommonMessages();
  const navigate = useNavigate();
  const refresh = useRefresh(...CHAT_QUERIES);
  const [isRenaming, setRenaming] = useState(false);
  const params = { path: { chat_id: chat.id } };
  const name = chat.title === '' ? messages.newChat : chat.title;
  return (
    <>
      <RowMenu>
        <RowButton
          label={chat.pinned ? messages.unpin : messages.pin}
          name={name}
          onClick={() =>
            void api.PATCH('/v1/chats/{chat_id}', { params, body: { pinned: !chat.pinned } }).then(refresh)
          }
        />
        <RowButton label={messages.rename} name={name} onClick={() => setRenaming(true)} />
        {EXPORTS.map(({ format, label }) => (
          <Menu.Item
            key={format}
            component="a"
            aria-label={`${messages[label]}: ${name}`}
            href={`/v1/chats/${chat.id}/export?format=${format}`}
            download
          >
            {messages[label]}
          </Menu.Item>
        ))}
        <ConfirmButton
          label={common.delete}
          name={name}
          text={messages.deleteText}
          refreshes={['chats']}
          action={async () => {
            await api.DELETE('/v1/chats/{chat_id}', { params });
            if (isOpen) await navigate({ to: '/chat/{-$chatId}', params: { chatId: undefined } as never });
          }}
        />
      </RowMenu>
      {isRenaming && <RenameDialog chat={chat} onClose={() => setRenaming(false)} />}
    </>
  );
}

function RenameDialog({ chat, onClose }: { chat: Chat; onClose(): void }) {
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
