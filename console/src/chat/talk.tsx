import { Button } from '@mantine/core';
import { useMemo, useRef } from 'react';
import type { Citation } from '../answers/answer-events.ts';
import { useFollowEnd } from '../answers/follow-end.ts';
import { Answer } from './answer.tsx';
import type { ChatMessage } from './branch.ts';
import { useChatMessages } from './messages.ts';

interface TalkProps {
  branch: readonly ChatMessage[];
  citations: readonly Citation[];
  /** A message that is being sent. */
  pending: string | null;
  isRunning: boolean;
  onAgain(message: ChatMessage): void;
  onContinue(): void;
}

/** The messages of a branch with their answers. The end stays in view until the user scrolls up. */
export function Talk({ branch, citations, pending, isRunning, onAgain, onContinue }: TalkProps) {
  const messages = useChatMessages();
  const view = useRef<HTMLDivElement>(null);
  const content = useMemo(() => ({ branch, pending }), [branch, pending]);
  const { isFollowing, onScroll, follow, column } = useFollowEnd(view, content);
  // Stable callbacks keep ended answers from rendering while another one is written.
  const latest = useRef({ onAgain, onContinue });
  latest.current = { onAgain, onContinue };
  const again = useMemo(() => (message: ChatMessage) => latest.current.onAgain(message), []);
  const goOn = useMemo(() => () => latest.current.onContinue(), []);
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
              <div className="chat-mine">{message.text}</div>
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
