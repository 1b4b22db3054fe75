import { Drawer, SegmentedControl, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { CopyText } from '../components/copy-text.tsx';
import { useMessages } from '../messages/index.tsx';
import type { PlaygroundRequest } from './playground-request.ts';
import { LANGUAGES, type SampleLanguage, writeSample } from './playground-samples.ts';

interface CodeDrawerProps {
  /** Null: closed. */
  request: PlaygroundRequest | null;
  /** Whether the request has been sent. */
  isSent: boolean;
  onClose(): void;
}

/** Shows a request as code in three languages. */
export function CodeDrawer({ request, isSent, onClose }: CodeDrawerProps) {
  const { playground, common } = useMessages();
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
