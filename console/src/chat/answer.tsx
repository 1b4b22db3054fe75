import { Alert, Button, Group, Loader, Text } from '@mantine/core';
import { memo, useEffect, useMemo, useState, useSyncExternalStore } from 'react';
import type { AnswerPart, Citation } from '../answers/answer-events.ts';
import { AnswerText } from '../answers/answer-text.tsx';
import { parseOutput } from '../answers/response-events.ts';
import { Hint } from '../ui/text.tsx';
import { AnswerLine } from './answer-line.tsx';
import { type ChatMessage, isRunning, readOutput } from './branch.ts';
import { LiveAnswer } from './live-answer.ts';
import { type ChatMessages, useChatMessages } from './messages.ts';
import { useReadMessage, useTitleRefresh } from './use-chats.ts';

interface AnswerProps {
  message: ChatMessage;
  /** The citations of the conversation, whose passages are numbered in this order. */
  citations: readonly Citation[];
  /** Sends the message again; undefined while another answer is written. */
  onAgain: ((message: ChatMessage) => void) | undefined;
  /** Undefined: it is not the last answer. */
  onContinue: (() => void) | undefined;
}

/** The answer to a message, as it is stored, or while it is written. */
export const Answer = memo(function Answer(props: AnswerProps) {
  return isRunning(props.message) ? <RunningAnswer {...props} /> : <EndedAnswer {...props} />;
});

function EndedAnswer({ message, citations, onAgain, onContinue }: AnswerProps) {
  const messages = useChatMessages();
  const parts = useMemo(() => parseOutput(readOutput(message), true), [message]);
  const { error } = message.response;
  const note = describeEnd(message, messages);
  return (
    <article className="chat-answer">
      <Parts parts={parts} citations={citations} />
      {error !== null && <Alert color="red" role="alert" title={error.message} mb="xs" />}
      {note !== null && (
        <Group gap="xs" mb={4}>
          <Hint>{note}</Hint>
          {onContinue !== undefined && (
            <Button size="compact-xs" variant="default" onClick={onContinue}>
              {messages.continue}
            </Button>
          )}
        </Group>
      )}
      <AnswerLine message={message} parts={parts} onAgain={onAgain} />
    </article>
  );
}

/** Why an answer is not complete; null when it is. */
function describeEnd({ response }: ChatMessage, messages: ChatMessages): string | null {
  const reason = response.incomplete_details?.reason;
  if (reason === undefined) return null;
  if (reason === 'cancelled') return messages.stopped;
  if (reason === 'max_output_tokens') return messages.cut;
  return reason === 'content_filter' ? messages.filtered : messages.incomplete;
}

function RunningAnswer({ message, citations }: AnswerProps) {
  const messages = useChatMessages();
  const { parts, isLost } = useLiveAnswer(message);
  const last = parts.at(-1);
  const isSearching = last?.kind === 'search';
  return (
    <article className="chat-answer" aria-busy>
      <Parts parts={parts} citations={citations} />
      {(last === undefined || isSearching) && (
        <Group gap="xs" role="status">
          <Loader type="dots" size="sm" aria-label={messages.waiting} />
          {isSearching && <Hint>{messages.searching}</Hint>}
        </Group>
      )}
      {isLost && <Hint role="status">{messages.reconnecting}</Hint>}
    </article>
  );
}

/** Follows an answer until it ends, or the page is left; its message is read again then. */
function useLiveAnswer(message: ChatMessage) {
  const { chat_id: chatId, id } = message;
  const [live] = useState(() => new LiveAnswer());
  const readMessage = useReadMessage();
  const readTitle = useTitleRefresh();
  // biome-ignore lint/correctness/useExhaustiveDependencies: an answer is followed once; the function is new in each render.
  useEffect(() => {
    const abort = new AbortController();
    void live.follow(`/v1/chats/${chatId}/messages/${id}`, abort.signal).then(() => {
      if (abort.signal.aborted) return;
      void readMessage({ chat_id: chatId, id });
      readTitle(message);
    });
    return () => abort.abort();
  }, [chatId, id, live]);
  return useSyncExternalStore(live.subscribe, live.getState);
}

function Parts({ parts, citations }: { parts: readonly AnswerPart[]; citations: readonly Citation[] }) {
  return parts.map((part) => <Part key={part.key} part={part} citations={citations} />);
}

const Part = memo(function Part({ part, citations }: { part: AnswerPart; citations: readonly Citation[] }) {
  const messages = useChatMessages();
  if (part.kind === 'text') return <AnswerText part={part} citations={citations} />;
  if (part.kind !== 'reasoning') return null;
  return (
    <details className="chat-reasoning">
      <summary>{messages.reasoning}</summary>
      <Text size="sm" c="dimmed" className="plain-text">
        {part.text}
      </Text>
    </details>
  );
});
