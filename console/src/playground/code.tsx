import { Drawer, Stack } from '@mantine/core';
import { useState } from 'react';
import { CopyText } from '../ui/copy-text.tsx';
import { Segments } from '../ui/fields.tsx';
import { Hint } from '../ui/text.tsx';
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
  const [language, setLanguage] = useState<SampleLanguage>('curl');
  return (
    <Drawer opened={request !== null} onClose={onClose} position="right" size="xl" title={playground.code}>
      <Stack>
        <Hint>
          {isSent ? playground.codeSent : playground.codeNext} {playground.codeKey}
        </Hint>
        <Segments label={playground.codeLanguage} values={LANGUAGES} value={language} onChange={setLanguage} />
        {request !== null && <CopyText value={writeSample(language, request, location.origin)} />}
      </Stack>
    </Drawer>
  );
}
