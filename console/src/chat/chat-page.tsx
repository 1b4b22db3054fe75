import { ActionIcon, Title } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { MessageCircle, MessagesSquare } from 'lucide-react';
import { useEffect, useMemo, useState } from 'react';
import type { Citation } from '../answers/answer-events.ts';
import { parseOutput } from '../answers/response-events.ts';
import { OpenPassage } from '../passages/open-passage.ts';
import type { Passage } from '../passages/passage.ts';
import { Drawer } from '../ui/dialogs.tsx';
import { Icon } from '../ui/icon.tsx';
import { lazyPart } from '../ui/lazy-part.tsx';
import { useTitle } from '../ui/page.tsx';
import { EmptyState, LoadingState, MutationError, QueryError } from '../ui/states.tsx';
import { Hint } from '../ui/text.tsx';
import { Tooltip } from '../ui/tooltip.tsx';
import { type ChatMessage, findBranchEnd, isRunning, readBranch, readOutput } from './branch.ts';
import './chat.css';
import { ChatList } from './chat-list.tsx';
import { ChatMenu } from './chat-menu.tsx';
import { Composer } from './composer.tsx';
import { useChatMessages } from './messages.ts';
import { useAttachments } from './use-attachments.ts';
import { useChat, useChatHistory, useSendMessage, useShowBranch, useStopAnswer } from './use-chats.ts';
import { useSettings } from './use-settings.ts';

const ChatThread = lazyPart(() => import('./chat-thread.tsx'), 'ChatThread');
const Sources = lazyPart(() => import('./sources-panel.tsx'), 'Sources');

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
          <QueryError query={chat.isError ? chat : history} />
          <Conversation
            chatId={chatId}
            isLoading={chatId !== undefined && (history.data === undefined || chat.data === undefined)}
            history={history.data ?? []}
            branch={branch}
            citations={citations}
          />
        </section>
        {(citations.length > 0 || passage !== null) && (
          <Sources citations={citations} passage={passage} onSelect={setPassage} />
        )}
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
  const { settings, change, preset, presets } = useSettings(chatId);
  const description = presets.find(({ id }) => id === preset?.id)?.description;
  const stop = useStopAnswer();
  const showBranch = useShowBranch(chatId);
  const open = (id: string) => void navigate({ to: '/chat/{-$chatId}', params: { chatId: id }, replace: true });
  const send = useSendMessage(chatId, (message) => {
    if (chatId === undefined) open(message.chat_id);
  });
  const files = useAttachments(chatId, isLoading ? null : history, open);
  const running = branch.find(isRunning);
  const submit = (text: string, parentId = branch.at(-1)?.id ?? null, attachmentIds: readonly string[] = []) =>
    send.mutateAsync({ ...settings, text, parentId, attachmentIds }).then(
      () => true,
      () => false,
    );
  const isBusy = running !== undefined || send.isPending;
  return (
    <>
      {isLoading || (branch.length === 0 && !send.isPending) ? (
        <Welcome isLoading={isLoading} text={description ?? messages.welcomeText} />
      ) : (
        <ChatThread
          history={history}
          branch={branch}
          citations={citations}
          pending={send.isPending ? send.variables.text : null}
          isRunning={isBusy}
          onAgain={(message) => void submit(message.text, message.parent_id, files.keep(message))}
          onEdit={(message, text) => void submit(text, message.parent_id, files.keep(message))}
          onShow={({ id }) => showBranch.mutate(findBranchEnd(history, id))}
          onContinue={() => void submit(messages.continue)}
        />
      )}
      <Composer
        settings={settings}
        onChange={change}
        files={files}
        preset={preset}
        presets={presets}
        isRunning={isBusy}
        isLoading={isLoading}
        onSend={(text) =>
          submit(
            text,
            undefined,
            files.pending.map(({ id }) => id),
          )
        }
        onStop={() => running !== undefined && stop.mutate(running)}
      >
        <MutationError mutation={send} />
        <MutationError mutation={stop} />
        <MutationError mutation={showBranch} />
      </Composer>
    </>
  );
}

/** Start view of a chat without messages, also shown while a chat is loading. */
function Welcome({ isLoading, text }: { isLoading: boolean; text: string }) {
  const messages = useChatMessages();
  return (
    <div className="chat-welcome">
      {isLoading ? (
        <LoadingState />
      ) : (
        <EmptyState icon={MessageCircle} text={messages.welcome}>
          <Hint ta="center">{text}</Hint>
        </EmptyState>
      )}
    </div>
  );
}
