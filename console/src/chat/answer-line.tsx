import { CopyButton, UnstyledButton } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Check, ChevronDown, ChevronUp, Copy, RotateCcw } from 'lucide-react';
import type { AnswerPart } from '../answers/answer-events.ts';
import { PassageList } from '../answers/passage-list.tsx';
import { useFormat } from '../ui/format.ts';
import { Icon } from '../ui/icon.tsx';
import { fill } from '../ui/language.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import type { ChatMessage } from './branch.ts';
import { Feedback } from './feedback.tsx';
import { LineButton } from './line-button.tsx';
import { useChatMessages } from './messages.ts';

interface AnswerLineProps {
  message: ChatMessage;
  parts: readonly AnswerPart[];
  onAgain: ((message: ChatMessage) => void) | undefined;
}

/** The line under an answer: what can be done with it, and its model, time and tokens. */
export function AnswerLine({ message, parts, onAgain }: AnswerLineProps) {
  const messages = useChatMessages();
  const common = useCommonMessages();
  const format = useFormat();
  const [isOpen, { toggle }] = useDisclosure();
  const { response, duration_ms: duration } = message;
  const text = parts.flatMap((part) => (part.kind === 'text' ? [part.text] : [])).join('\n\n');
  return (
    <>
      <div className="chat-line">
        <CopyButton value={text}>
          {({ copied, copy }) => (
            <LineButton label={copied ? common.copied : common.copy} icon={copied ? Check : Copy} onClick={copy} />
          )}
        </CopyButton>
        {onAgain !== undefined && (
          <LineButton label={messages.again} icon={RotateCcw} onClick={() => onAgain(message)} />
        )}
        <Feedback message={message} />
        <span className="breakable">{response.model}</span>
        {duration !== null && <span>{format.duration(duration)}</span>}
        {response.usage !== null && (
          <span>{fill(messages.tokens, { count: format.number(response.usage.output_tokens) })}</span>
        )}
        <UnstyledButton className="chat-details" aria-expanded={isOpen} onClick={toggle}>
          {common.details}
          <Icon icon={isOpen ? ChevronUp : ChevronDown} />
        </UnstyledButton>
      </div>
      {isOpen && <Details message={message} parts={parts} />}
    </>
  );
}

function Details({ message, parts }: Pick<AnswerLineProps, 'message' | 'parts'>) {
  const messages = useChatMessages();
  const format = useFormat();
  const { usage, turn_count: turns } = message.response;
  const searches = parts.filter((part) => part.kind === 'search');
  return (
    <div className="chat-figures">
      <dl>
        {usage !== null && (
          <>
            <dt>{messages.promptTokens}</dt>
            <dd>{format.number(usage.input_tokens)}</dd>
            <dt>{messages.cachedTokens}</dt>
            <dd>{format.number(usage.input_tokens_details.cached_tokens)}</dd>
          </>
        )}
        <dt>{messages.modelCalls}</dt>
        <dd>{format.number(turns)}</dd>
        <dt>{messages.messageId}</dt>
        <dd className="breakable">{message.id}</dd>
        {searches.map(({ key, queries }) => (
          <div key={key} style={{ display: 'contents' }}>
            <dt>{messages.searched}</dt>
            <dd className="breakable">{queries.join(' · ')}</dd>
          </div>
        ))}
      </dl>
      {searches.map(({ key, passages }) => (
        <details key={key}>
          <summary>{fill(messages.passages, { count: passages.length })}</summary>
          <PassageList passages={passages} />
        </details>
      ))}
    </div>
  );
}
