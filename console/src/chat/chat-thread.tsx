import { Button } from '@mantine/core';
import { useMemo, useRef } from 'react';
import type { Citation } from '../answers/answer-events.ts';
import { useFollowEnd } from '../answers/follow-end.ts';
import { Answer } from './answer.tsx';
import { type ChatMessage, readSiblings } from './branch.ts';
import { useChatMessages } from './messages.ts';
import { MyMessage } from './my-message.tsx';

type Actions = Pick<ChatThreadProps, 'onAgain' | 'onEdit' | 'onShow' | 'onContinue'>;

interface ChatThreadProps {
  /** Messages of all branches. */
  history: readonly ChatMessage[];
  branch: readonly ChatMessage[];
  citations: readonly Citation[];
  /** A message that is being sent. */
  pending: string | null;
  isRunning: boolean;
  onAgain(message: ChatMessage): void;
  onEdit(message: ChatMessage, text: string): void;
  onShow(message: ChatMessage): void;
  onContinue(): void;
}

/** The messages of a branch with their answers. The end stays in view until the user scrolls up. */
export function ChatThread({ history, branch, citations, pending, isRunning, ...actions }: ChatThreadProps) {
  const messages = useChatMessages();
  const view = useRef<HTMLDivElement>(null);
  const content = useMemo(() => ({ branch, pending }), [branch, pending]);
  const { isFollowing, onScroll, follow, column } = useFollowEnd(view, content);
  const { again, edit, show, goOn } = useStableActions(actions);
  const siblings = useMemo(
    () => new Map(branch.map((message) => [message.id, readSiblings(history, message)])),
    [history, branch],
  );
  return (
    <div className="chat-scroll">
      <div
        ref={view}
        className="chat-messages"
        onScroll={onScroll}
        role="log"
        aria-label={messages.conversation}
        aria-live="polite"
        aria-busy={isRunning}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls the conversation.
        tabIndex={0}
      >
        <div ref={column} className="chat-column">
          {branch.map((message) => (
            <div key={message.id} className="chat-turn">
              <MyMessage
                message={message}
                siblings={siblings.get(message.id) ?? []}
                onEdit={isRunning ? undefined : edit}
                onShow={show}
              />
              <Answer
                message={message}
                citations={citations}
                onAgain={isRunning ? undefined : again}
                onContinue={isRunning || message !== branch.at(-1) ? undefined : goOn}
              />
            </div>
          ))}
          {pending !== null && <div className="chat-mine">{pending}</div>}
        </div>
      </div>
      {!isFollowing && (
        <Button className="chat-latest" size="xs" radius="xl" variant="default" onClick={follow}>
          {messages.latest}
        </Button>
      )}
    </div>
  );
}

/** Stable callbacks keep ended answers from rendering while another one is written. */
function useStableActions(actions: Actions) {
  const latest = useRef(actions);
  latest.current = actions;
  return useMemo(
    () => ({
      again: (message: ChatMessage) => latest.current.onAgain(message),
      edit: (message: ChatMessage, text: string) => latest.current.onEdit(message, text),
      show: (message: ChatMessage) => latest.current.onShow(message),
      goOn: () => latest.current.onContinue(),
    }),
    [],
  );
}
