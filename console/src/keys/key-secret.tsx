import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { CopyText } from '../ui/copy-text.tsx';
import { toCurl } from '../ui/curl.ts';
import { Modal } from '../ui/dialogs.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { useKeyMessages } from './messages.ts';

const EXAMPLE = { model: 'general-8b', messages: [{ role: 'user', content: 'Hello' }] };

/** Shows a new secret once, with a first request. Null: closed. */
export function KeySecret({ secret, onClose }: { secret: string | null; onClose(): void }) {
  const keys = useKeyMessages();
  const common = useCommonMessages();
  return (
    <Modal opened={secret !== null} onClose={onClose} title={keys.created} size="lg" closeOnClickOutside={false}>
      {secret !== null && (
        <Stack>
          <Alert color="orange">{keys.createdText}</Alert>
          <CopyText value={secret} />
          <Text size="sm">{keys.example}</Text>
          <CopyText value={toCurl('/v1/chat/completions', EXAMPLE, { key: secret })} />
          <Group justify="flex-end">
            <Button onClick={onClose}>{common.close}</Button>
          </Group>
        </Stack>
      )}
    </Modal>
  );
}
