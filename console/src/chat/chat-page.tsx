import { ActionIcon, Drawer, Title, Tooltip } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { MessageCircle, MessagesSquare } from 'lucide-react';
import { useEffect, useMemo, useState } from 'react';
import '../answers/answers.css';
import type { Citation } from '../answers/answer-events.ts';
import { parseOutput } from '../answers/response-events.ts';
import type { Passage } from '../passages/passage.ts';
import { OpenPassage } from '../passages/passage-panel.tsx';
import { Icon } from '../ui/icon.tsx';
import { useTitle } from '../ui/page.tsx';
import { EmptyState, LoadingState, MutationError, QueryError } from '../ui/states.tsx';
import { Hint } from '../ui/text.tsx';
import { type ChatMessage, findBranchEnd, isRunning, readBranch, readOutput } from './branch.ts';
import './chat.css';
import { ChatList } from './chat-list.tsx';
import { ChatMenu } from './chat-menu.tsx';
import { Composer } from './composer.tsx';
import { useChatMessages } from './messages.ts';
import { Sources } from './sources-panel.tsx';
import { Talk } from './talk.tsx';
import { useChat, useChatHistory, useSendMessage, useShowBranch, useStopAnswer } from './use-chats.ts';
import { useSettings } from './use-settings.ts';

const route = getRouteApi('/shell/chat/{-$chatId}');

/** Conversations of the user: the list, the messages of one, and the sources of its answers. */
export function ChatPage() {
  const { chatId } = route.useParams();
  const [passage, setPassage] = useState<Passage | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a passage belongs to one chat.
  useEffect(() => setPassage(null), [chatId]);
  const messages = useChatMessages();
  const history = useChatHistory(chatId);
  const chat = useChat(chatId);
  const branch = useMemo(
    () => readBranch(history.data ?? [], chat.data?.current_message_id),
    [history.data, chat.data?.current_message_id],
  );
  const citations = useMemo(() => branch.flatMap(readCitations), [branch]);
  const title = chat.data?.title || messages.newChat;
  useTitle(title);
  return (
    <OpenPassage value={setPassage}>
      <div className="chat">
        <div className="chat-side">
          <ChatList chatId={chatId} />
        </div>
        <section className="chat-talk">
          <div className="chat-head">
            <ListDrawer chatId={chatId} />
            <Title order={1} className="page-title" title={title}>
              {title}
            </Title>
            {chat.data !== undefined && <ChatMenu chat={chat.data} isOpen />}
          </div>
          <QueryError query={history} />
          <QueryError query={chat} />
          <Conversation
            chatId={chatId}
            isLoading={chatId !== undefined && (history.data === undefined || chat.data === undefined)}
            history={history.data ?? []}
            branch={branch}
            citations={citations}
          />
        </section>
        <Sources citations={citations} passage={passage} onSelect={setPassage} />
      </div>
    </OpenPassage>
  );
}

const readCitations = (message: ChatMessage): readonly Citation[] =>
  parseOutput(readOutput(message), true).flatMap((part) => (part.kind === 'text' ? part.citations : []));

/** The list of chats on narrow screens. */
function ListDrawer({ chatId }: { chatId: string | undefined }) {
  const messages = useChatMessages();
  const [isOpen, { open, close }] = useDisclosure();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the drawer closes when another chat opens.
  useEffect(close, [chatId]);
  return (
    <>
      <Tooltip label={messages.chats}>
        <ActionIcon className="chat-narrow" aria-label={messages.chats} onClick={open}>
          <Icon icon={MessagesSquare} />
        </ActionIcon>
      </Tooltip>
      <Drawer opened={isOpen} onClose={close} size={300} title={messages.chats}>
        <ChatList chatId={chatId} />
      </Drawer>
    </>
  );
}

interface ConversationProps {
  chatId: string | undefined;
  isLoading: boolean;
  history: readonly ChatMessage[];
  branch: readonly ChatMessage[];
  citations: readonly Citation[];
}

function Conversation({ chatId, isLoading, history, branch, citations }: ConversationProps) {
  const messages = useChatMessages();
  const navigate = useNavigate();
  const { settings, change } = useSettings(chatId);
  const stop = useStopAnswer();
  const showBranch = useShowBranch(chatId);
  const send = useSendMessage(chatId, (message) => {
    if (chatId === undefined)
      void navigate({ to: '/chat/{-$chatId}', params: { chatId: message.chat_id }, replace: true });
  });
  const running = branch.find(isRunning);
  const submit = (text: string, parentId = branch.at(-1)?.id ?? null) =>
    send.mutateAsync({ ...settings, text, parentId }).then(
      () => true,
      () => false,
    );
  const isBusy = running !== undefined || send.isPending;
  return (
    <>
      {isLoading ? (
        <div className="chat-welcome">
          <LoadingState />
        </div>
      ) : branch.length === 0 && !send.isPending ? (
        <div className="chat-welcome">
          <EmptyState icon={MessageCircle} text={messages.welcome}>
            <Hint ta="center">{messages.welcomeText}</Hint>
          </EmptyState>
        </div>
      ) : (
        <Talk
          history={history}
          branch={branch}
          citations={citations}
          pending={send.isPending ? send.variables.text : null}
          isRunning={isBusy}
          onAgain={({ text, parent_id: parentId }) => void submit(text, parentId)}
          onEdit={({ parent_id: parentId }, text) => void submit(text, parentId)}
          onShow={({ id }) => showBranch.mutate(findBranchEnd(history, id))}
          onContinue={() => void submit(messages.continue)}
        />
      )}
      <Composer
        settings={settings}
        onChange={change}
        isRunning={isBusy}
        isLoading={isLoading}
        onSend={submit}
        onStop={() => running !== undefined && stop.mutate(running)}
      >
        <MutationError mutation={send} />
        <MutationError mutation={stop} />
        <MutationError mutation={showBranch} />
      </Composer>
    </>
  );
}
