import { Drawer, SegmentedControl, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { CopyText } from '../ui/copy-text.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { usePlaygroundMessages } from './messages.ts';
import { LANGUAGES, type SampleLanguage, writeSample } from './samples.ts';
import type { PlaygroundRequest } from './turns.ts';

interface CodeDrawerProps {
  /** Null: closed. */
  request: PlaygroundRequest | null;
  /** Whether the request has been sent. */
  isSent: boolean;
  onClose(): void;
}

/** Shows a request as code in three languages. */
export function CodeDrawer({ request, isSent, onClose }: CodeDrawerProps) {
  const playground = usePlaygroundMessages();
  const common = useCommonMessages();
  const [language, setLanguage] = useState<SampleLanguage>('curl');
  return (
    <Drawer
      opened={request !== null}
      onClose={onClose}
      position="right"
      size="xl"
      title={playground.code}
      closeButtonProps={{ 'aria-label': common.close }}
    >
      <Stack>
        <Text size="sm" c="dimmed">
          {isSent ? playground.codeSent : playground.codeNext} {playground.codeKey}
        </Text>
        <SegmentedControl
          aria-label={playground.codeLanguage}
          data={[...LANGUAGES]}
          value={language}
          onChange={(value) => setLanguage(value as SampleLanguage)}
        />
        {request !== null && <CopyText value={writeSample(language, request, location.origin)} />}
      </Stack>
    </Drawer>
  );
}
