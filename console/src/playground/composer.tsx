import { Button, Group, Paper, Textarea } from '@mantine/core';
import { useId, useState } from 'react';
import { useCommonMessages } from '../ui/messages.ts';
import { Hint } from '../ui/text.tsx';
import { usePlaygroundMessages } from './messages.ts';

interface ComposerProps {
  isDisabled: boolean;
  isRunning: boolean;
  /** Tool calls wait for their results. */
  needsResults: boolean;
  onSend(text: string): void;
  onStop(): void;
}

/** The field for the next message. Enter sends, Shift+Enter starts a line. */
export function Composer({ isDisabled, isRunning, needsResults, onSend, onStop }: ComposerProps) {
  const playground = usePlaygroundMessages();
  const common = useCommonMessages();
  const [text, setText] = useState('');
  const hintId = useId();
  const isReady = !isDisabled && !isRunning && !needsResults && text.trim() !== '';
  const send = () => {
    if (!isReady) return;
    setText('');
    onSend(text.trim());
  };
  const hint = isDisabled ? common.readOnly : needsResults ? playground.needsResults : playground.sendHint;
  return (
    <Paper withBorder p="sm">
      <Group align="flex-end" wrap="nowrap">
        <Textarea
          aria-label={playground.placeholder}
          aria-describedby={hintId}
          placeholder={playground.placeholder}
          autosize
          minRows={1}
          maxRows={8}
          flex={1}
          disabled={isDisabled}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
            event.preventDefault();
            send();
          }}
        />
        {isRunning ? (
          <Button color="red" onClick={onStop}>
            {playground.stop}
          </Button>
        ) : (
          <Button onClick={send} disabled={!isReady}>
            {playground.send}
          </Button>
        )}
      </Group>
      <Hint id={hintId} size="xs" mt={4}>
        {hint}
      </Hint>
    </Paper>
  );
}
