import { Stack } from '@mantine/core';
import { useState } from 'react';
import { CopyText } from '../ui/copy-text.tsx';
import { Drawer } from '../ui/dialogs.tsx';
import { Segments } from '../ui/segments.tsx';
import { Hint } from '../ui/text.tsx';
import { usePlaygroundMessages } from './messages.ts';
import { LANGUAGES, type SampleLanguage, writeSample } from './samples.ts';
import type { PlaygroundRequest } from './turns.ts';

interface CodeDrawerProps {
  request: PlaygroundRequest;
  /** Whether the request has been sent. */
  isSent: boolean;
  onClose(): void;
}

/** Shows a request as code in three languages. Render it while it is open. */
export function CodeDrawer({ request, isSent, onClose }: CodeDrawerProps) {
  const playground = usePlaygroundMessages();
  const [language, setLanguage] = useState<SampleLanguage>('curl');
  return (
    <Drawer opened onClose={onClose} position="right" size="xl" title={playground.code}>
      <Stack>
        <Hint>
          {isSent ? playground.codeSent : playground.codeNext} {playground.codeKey}
        </Hint>
        <Segments label={playground.codeLanguage} values={LANGUAGES} value={language} onChange={setLanguage} />
        <CopyText value={writeSample(language, request, { origin: location.origin })} />
      </Stack>
    </Drawer>
  );
}
