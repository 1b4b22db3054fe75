import { Button, Stack } from '@mantine/core';
import { type RefObject, useCallback, useRef, useSyncExternalStore } from 'react';
import { useFollowEnd } from '../answers/follow-end.ts';
import { useMayWrite } from '../api/session.ts';
import { fill } from '../ui/language.tsx';
import { lazyPart } from '../ui/lazy-part.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { EmptyState } from '../ui/states.tsx';
import type { Conversation, ConversationPhase } from './conversation.ts';
import { usePlaygroundMessages } from './messages.ts';
import type { PlaygroundSettings } from './request.ts';
import type { AnswerTurn, ToolTurn, Turn } from './turns.ts';

const AnswerMessage = lazyPart(() => import('./message.tsx'), 'AnswerMessage');
const ToolMessage = lazyPart(() => import('./message.tsx'), 'ToolMessage');
const UserMessage = lazyPart(() => import('./message.tsx'), 'UserMessage');

/** What a conversation does; renders again when that changes. */
export const usePhase = (conversation: Conversation): ConversationPhase =>
  useSyncExternalStore(conversation.subscribe, conversation.getPhase);

const useTurns = (conversation: Conversation): readonly Turn[] =>
  useSyncExternalStore(conversation.subscribe, conversation.getTurns);

interface PaneProps {
  conversation: Conversation;
  settings: PlaygroundSettings;
  onResend(index: number, text: string): void;
  onShowRequest(turn: AnswerTurn): void;
}

/** A conversation that follows the running answer until the user scrolls up. */
export function ConversationPane({ conversation, settings, onResend, onShowRequest }: PaneProps) {
  const playground = usePlaygroundMessages();
  const common = useCommonMessages();
  const mayWrite = useMayWrite();
  const turns = useTurns(conversation);
  const view = useRef<HTMLDivElement>(null);
  const { isFollowing, onScroll, follow } = useFollowEnd(view, turns);
  // Stable callbacks keep finished messages from rendering with every frame of the running one.
  const latest = useRef({ settings, onResend });
  latest.current = { settings, onResend };
  const retry = useCallback(() => void conversation.retry(latest.current.settings), [conversation]);
  const continueWith = useCallback(
    (results: Omit<ToolTurn, 'role' | 'id'>[]) => void conversation.continueWith(results, latest.current.settings),
    [conversation],
  );
  const last = turns.at(-1);
  const canChange = mayWrite && !conversation.isRunning;
  let users = 0;
  let question = '';
  return (
    <div className="playground-pane">
      <div
        ref={view}
        className="playground-turns"
        onScroll={onScroll}
        {...logProps(conversation, settings, playground.conversation)}
      >
        <Stack gap="sm">
          {turns.length === 0 && <EmptyState text={mayWrite ? playground.empty : common.readOnly} />}
          {turns.map((turn) => {
            if (turn.role === 'tool') return <ToolMessage key={turn.id} turn={turn} />;
            if (turn.role === 'assistant') {
              const isLast = turn === last && canChange;
              return (
                <AnswerMessage
                  key={turn.id}
                  turn={turn}
                  onRetry={isLast ? retry : undefined}
                  onContinue={isLast ? continueWith : undefined}
                  onShowRequest={onShowRequest}
                  question={question}
                />
              );
            }
            const index = users;
            question = turn.text;
            users += 1;
            return <Editable key={turn.id} turn={turn} index={index} latest={latest} isEditable={canChange} />;
          })}
        </Stack>
      </div>
      {!isFollowing && (
        <Button className="playground-latest" size="xs" radius="xl" onClick={follow}>
          {playground.latest}
        </Button>
      )}
    </div>
  );
}

/** Screen readers announce an answer when it is complete, not token by token. */
function logProps(conversation: Conversation, { model }: PlaygroundSettings, label: string) {
  return {
    role: 'log',
    'aria-label': fill(label, { model }),
    'aria-live': 'polite',
    'aria-busy': conversation.isRunning,
    // The keyboard scrolls the conversation.
    tabIndex: 0,
  } as const;
}

interface EditableProps {
  turn: Extract<Turn, { role: 'user' }>;
  index: number;
  isEditable: boolean;
  latest: RefObject<{ onResend(index: number, text: string): void }>;
}

function Editable({ turn, index, isEditable, latest }: EditableProps) {
  const resend = useCallback((text: string) => latest.current.onResend(index, text), [latest, index]);
  return <UserMessage turn={turn} onResend={isEditable ? resend : undefined} />;
}
