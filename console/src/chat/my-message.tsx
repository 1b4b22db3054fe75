import { Button, Group, Textarea } from '@mantine/core';
import { ChevronLeft, ChevronRight, Pencil } from 'lucide-react';
import { memo, useState } from 'react';
import { focusOnMount } from '../ui/focus-on-mount.ts';
import { fill } from '../ui/language.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { SentFiles } from './attachments.tsx';
import type { ChatMessage } from './branch.ts';
import { LineButton } from './line-button.tsx';
import { useChatMessages } from './messages.ts';

interface MyMessageProps {
  message: ChatMessage;
  /** The messages of the branches that begin here. */
  siblings: readonly ChatMessage[];
  /** Sends the message with another text, as a new branch; undefined while an answer is written. */
  onEdit: ((message: ChatMessage, text: string) => void) | undefined;
  /** Shows the branch of another message. */
  onShow(message: ChatMessage): void;
}

/** A message of the user, which can be edited, and the branches that begin with it. */
export const MyMessage = memo(function MyMessage({ message, siblings, onEdit, onShow }: MyMessageProps) {
  const messages = useChatMessages();
  const [isEditing, setEditing] = useState(false);
  if (isEditing && onEdit !== undefined) {
    const send = (text: string) => {
      setEditing(false);
      onEdit(message, text);
    };
    return <Editor text={message.text} onSend={send} onClose={() => setEditing(false)} />;
  }
  const at = siblings.findIndex(({ id }) => id === message.id);
  const step = (by: number) => {
    const sibling = siblings[at + by];
    return sibling && (() => onShow(sibling));
  };
  return (
    <div className="chat-own">
      <SentFiles message={message} />
      <div className="chat-mine">{message.text}</div>
      <div className="chat-line chat-own-line">
        {onEdit !== undefined && (
          <LineButton label={messages.edit} icon={Pencil} onClick={() => setEditing(true)} isQuiet />
        )}
        {siblings.length > 1 && (
          <span className="chat-versions">
            <LineButton label={messages.previousVersion} icon={ChevronLeft} onClick={step(-1)} />
            <span role="status" aria-label={fill(messages.version, { number: at + 1, count: siblings.length })}>
              {at + 1} / {siblings.length}
            </span>
            <LineButton label={messages.nextVersion} icon={ChevronRight} onClick={step(1)} />
          </span>
        )}
      </div>
    </div>
  );
});

/** Escape leaves the message as it is; Enter sends, as in the composer. */
function Editor({ text: before, onSend, onClose }: { text: string; onSend(text: string): void; onClose(): void }) {
  const messages = useChatMessages();
  const common = useCommonMessages();
  const [text, setText] = useState(before);
  const isReady = text.trim() !== '';
  return (
    <div className="chat-field chat-editor">
      <Textarea
        aria-label={messages.edit}
        variant="unstyled"
        autosize
        ref={focusOnMount}
        maxRows={12}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') onClose();
          if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
          event.preventDefault();
          if (isReady) onSend(text);
        }}
      />
      <Group gap="xs" justify="flex-end">
        <Button size="compact-sm" variant="default" onClick={onClose}>
          {common.cancel}
        </Button>
        <Button size="compact-sm" disabled={!isReady} onClick={() => onSend(text)}>
          {messages.send}
        </Button>
      </Group>
    </div>
  );
}
