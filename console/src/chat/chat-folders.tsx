import { UnstyledButton } from '@mantine/core';
import { readLocalStorageValue, useLocalStorage } from '@mantine/hooks';
import { useMutation } from '@tanstack/react-query';
import { ChevronDown, ChevronRight, Folder } from 'lucide-react';
import { type DragEvent, type ReactNode, useState } from 'react';
import { api, body } from '../api/client.ts';
import { useRefresh } from '../api/refresh.ts';
import { ConfirmButton, RowButton } from '../ui/confirm.tsx';
import { Icon } from '../ui/icon.tsx';
import { lazyPart } from '../ui/lazy-part.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { MoreButton } from '../ui/resource-table.tsx';
import { RowMenu } from '../ui/row-menu.tsx';
import { QueryData } from '../ui/states.tsx';
import type { Chat } from './group-chats.ts';
import { useChatMessages } from './messages.ts';
import { CHAT_QUERIES, FOLDER_PATH, useChatList, useFolders } from './use-chats.ts';

/** localStorage key of the names of expanded folders. */
const OPEN_FOLDERS = 'quire-chat-folders';
/** Drag data type of a chat id. */
const DRAGGED = 'application/x-quire-chat';

const RenameFolderDialog = lazyPart(() => import('./chat-dialogs.tsx'), 'RenameFolderDialog');

/** Returns the props that make the row of a chat draggable. */
export const draggableChat = ({ id }: Chat) => ({
  draggable: true,
  onDragStart: ({ dataTransfer }: DragEvent) => dataTransfer.setData(DRAGGED, id),
});

/** Returns the props of a drop target that moves chats to a folder, or out of folders if null. */
export function useDropFolder(folder: string | null) {
  const refresh = useRefresh('chats');
  const move = useMutation({
    mutationFn: (chatId: string) =>
      body(api.PATCH('/v1/chats/{chat_id}', { params: { path: { chat_id: chatId } }, body: { folder } })),
    onSuccess: refresh,
  });
  return {
    onDragOver: (event: DragEvent) => {
      if (event.dataTransfer.types.includes(DRAGGED)) event.preventDefault();
    },
    onDrop: ({ dataTransfer }: DragEvent) => {
      const chatId = dataTransfer.getData(DRAGGED);
      if (chatId !== '') move.mutate(chatId);
    },
  };
}

/** Folders of the user. Expanded folders show their chats. */
export function ChatFolders({ children }: { children(chat: Chat): ReactNode }) {
  const folders = useFolders();
  const [open, setOpen] = useLocalStorage<string[]>({
    key: OPEN_FOLDERS,
    defaultValue: readLocalStorageValue({ key: OPEN_FOLDERS, defaultValue: [] }),
  });
  return (folders.data?.data ?? []).map(({ name, chat_count: count }) => (
    <FolderSection
      key={name}
      name={name}
      count={count}
      isOpen={open.includes(name)}
      onToggle={() => setOpen(open.includes(name) ? open.filter((each) => each !== name) : [...open, name])}
    >
      {children}
    </FolderSection>
  ));
}

interface FolderSectionProps {
  name: string;
  count: number;
  isOpen: boolean;
  onToggle(): void;
  children(chat: Chat): ReactNode;
}

function FolderSection({ name, count, isOpen, onToggle, children }: FolderSectionProps) {
  const drop = useDropFolder(name);
  return (
    <div {...drop}>
      <div className="chat-row chat-folder">
        <UnstyledButton aria-expanded={isOpen} onClick={onToggle}>
          <Icon icon={isOpen ? ChevronDown : ChevronRight} />
          <Icon icon={Folder} />
          <span className="chat-folder-name" title={name}>
            {name}
          </span>
          <span className="chat-note">{count}</span>
        </UnstyledButton>
        <FolderMenu name={name} />
      </div>
      {isOpen && <FolderChats name={name}>{children}</FolderChats>}
    </div>
  );
}

function FolderChats({ name, children }: { name: string; children(chat: Chat): ReactNode }) {
  const query = useChatList('', name);
  return (
    <div className="chat-folder-chats">
      <QueryData query={query}>{({ pages }) => pages.flatMap(({ data }) => data).map(children)}</QueryData>
      <MoreButton query={query} />
    </div>
  );
}

function FolderMenu({ name }: { name: string }) {
  const messages = useChatMessages();
  const common = useCommonMessages();
  const [isRenaming, setRenaming] = useState(false);
  const params = { path: { folder: name } };
  return (
    <>
      <RowMenu>
        <RowButton label={messages.rename} name={name} onClick={() => setRenaming(true)} />
        <ConfirmButton
          label={common.delete}
          name={name}
          text={messages.deleteFolderText}
          refreshes={CHAT_QUERIES}
          action={() => body(api.DELETE(FOLDER_PATH, { params }))}
        />
      </RowMenu>
      {isRenaming && <RenameFolderDialog name={name} onClose={() => setRenaming(false)} />}
    </>
  );
}
