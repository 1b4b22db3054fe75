import { Menu } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../api/client.ts';
import { useRefresh } from '../api/refresh.ts';
import { ConfirmButton, RowButton } from '../ui/confirm.tsx';
import { lazyPart } from '../ui/lazy-part.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { RowMenu } from '../ui/row-menu.tsx';
import type { Chat } from './group-chats.ts';
import { useChatMessages } from './messages.ts';
import { CHAT_QUERIES } from './use-chats.ts';

const RenameDialog = lazyPart(() => import('./chat-dialogs.tsx'), 'RenameDialog');
const MoveDialog = lazyPart(() => import('./chat-dialogs.tsx'), 'MoveDialog');
const ShareDialog = lazyPart(() => import('./share-dialog.tsx'), 'ShareDialog');

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
  const [dialog, setDialog] = useState<'rename' | 'move' | 'share' | null>(null);
  const close = () => setDialog(null);
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
        <RowButton label={messages.rename} name={name} onClick={() => setDialog('rename')} />
        <RowButton label={messages.move} name={name} onClick={() => setDialog('move')} />
        {chat.current_message_id !== null && (
          <RowButton label={messages.share} name={name} onClick={() => setDialog('share')} />
        )}
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
      {dialog === 'rename' && <RenameDialog chat={chat} onClose={close} />}
      {dialog === 'move' && <MoveDialog chat={chat} onClose={close} />}
      {dialog === 'share' && <ShareDialog chat={chat} onClose={close} />}
    </>
  );
}
