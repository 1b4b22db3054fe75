import { ActionIcon, Button, Text, TextInput } from '@mantine/core';
import { useDebouncedValue, useDisclosure } from '@mantine/hooks';
import { Link } from '@tanstack/react-router';
import { Plus, Search } from 'lucide-react';
import { useState } from 'react';
import { NAME_SEARCH } from '../api/address-values.ts';
import { useKnowledgeBaseOptions } from '../api/use-knowledge-base-options.ts';
import { focusOnMount } from '../ui/focus-on-mount.ts';
import { Icon } from '../ui/icon.tsx';
import { fill } from '../ui/language.tsx';
import { MoreButton } from '../ui/resource-table.tsx';
import { QueryData } from '../ui/states.tsx';
import { Hint } from '../ui/text.tsx';
import { Tooltip } from '../ui/tooltip.tsx';
import { ChatFolders, draggableChat, useDropFolder } from './chat-folders.tsx';
import { ChatMenu } from './chat-menu.tsx';
import { type Chat, groupChats } from './group-chats.ts';
import { useChatMessages } from './messages.ts';
import { useChatList, useFolders } from './use-chats.ts';

/** Pause after the last key before a search is sent. */
const PAUSE_MS = 250;

/** The chats of the user by day, with a search and a button for a new one. */
export function ChatList({ chatId }: { chatId: string | undefined }) {
  const messages = useChatMessages();
  const [isSearching, { toggle }] = useDisclosure();
  const [text, setText] = useState('');
  const [search] = useDebouncedValue(isSearching ? text.trim() : '', PAUSE_MS);
  return (
    <nav className="chat-list" aria-label={messages.chats}>
      <div className="chat-list-head">
        <Button
          component={Link}
          to="/chat/{-$chatId}"
          params={{ chatId: undefined } as never}
          variant="default"
          leftSection={<Icon icon={Plus} />}
          flex={1}
        >
          {messages.newChat}
        </Button>
        <Tooltip label={messages.search}>
          <ActionIcon variant="default" aria-label={messages.search} aria-expanded={isSearching} onClick={toggle}>
            <Icon icon={Search} />
          </ActionIcon>
        </Tooltip>
      </div>
      {isSearching && (
        <TextInput
          type="search"
          mb={8}
          ref={focusOnMount}
          aria-label={messages.search}
          placeholder={messages.search}
          {...NAME_SEARCH}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
      )}
      <FoundChats search={search} chatId={chatId} />
    </nav>
  );
}

/** The chats with a text, by day. */
function FoundChats({ search, chatId }: { search: string; chatId: string | undefined }) {
  const messages = useChatMessages();
  const isSearch = search !== '';
  // Search results include chats in folders.
  const query = useChatList(search, isSearch ? undefined : '');
  const names = useKnowledgeBaseNames();
  const drop = useDropFolder(null);
  const hasFolders = (useFolders().data?.data.length ?? 0) > 0;
  const empty = hasFolders ? messages.allFolded : messages.noChats;
  const showChat = (chat: Chat) => <ChatRow key={chat.id} chat={chat} isOpen={chat.id === chatId} names={names} />;
  return (
    <>
      {!isSearch && <ChatFolders>{showChat}</ChatFolders>}
      <QueryData query={query}>
        {({ pages }) => {
          const chats = pages.flatMap(({ data }) => data);
          return (
            <div {...drop}>
              {chats.length === 0 && <Hint p={8}>{isSearch ? messages.notFound : empty}</Hint>}
              {groupChats(chats, new Date()).map(({ group, chats: members }) => (
                <section key={group}>
                  <h2 className="chat-group">{messages.groups[group]}</h2>
                  {members.map(showChat)}
                </section>
              ))}
              <MoreButton query={query} />
            </div>
          );
        }}
      </QueryData>
    </>
  );
}

function useKnowledgeBaseNames(): ReadonlyMap<string, string> {
  const { options } = useKnowledgeBaseOptions([]);
  return new Map(options.map(({ value, label }) => [value, label]));
}

function ChatRow({ chat, isOpen, names }: { chat: Chat; isOpen: boolean; names: ReadonlyMap<string, string> }) {
  const messages = useChatMessages();
  const { message_count: count } = chat;
  const bases = chat.knowledge_base_ids.flatMap((id) => names.get(id) ?? []);
  const note = [...bases, count === 1 ? messages.one : fill(messages.count, { count })].join(' · ');
  const title = chat.title === '' ? messages.newChat : chat.title;
  return (
    <div className="chat-row" data-active={isOpen || undefined} {...draggableChat(chat)}>
      <Link to="/chat/{-$chatId}" params={{ chatId: chat.id }} aria-current={isOpen ? 'page' : undefined}>
        <Text span inherit truncate display="block" title={title}>
          {title}
        </Text>
        <Text span className="chat-note" truncate display="block">
          {note}
        </Text>
      </Link>
      <ChatMenu chat={chat} isOpen={isOpen} />
    </div>
  );
}
