import { Alert, Button, Center, Code, Group, Loader, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { ApiFailure } from '../api/client.ts';
import { useMessages } from '../messages/index.tsx';

/** Shown while a page loads. */
export function LoadingState() {
  const { common } = useMessages();
  return (
    <Center p="xl" role="status" aria-label={common.loading}>
      <Loader />
    </Center>
  );
}

/** Shown instead of an empty list, with what to do next. */
export function EmptyState({ text, children }: { text: string; children?: ReactNode }) {
  return (
    <Stack align="center" p="xl" gap="sm">
      <Text c="dimmed">{text}</Text>
      {children}
    </Stack>
  );
}

/** Shows the message of a failed request and its id, by which operators find it in the logs. */
export function ErrorState({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const { common } = useMessages();
  const failure = error instanceof ApiFailure ? error : null;
  const message = failure?.status === 403 && failure.param === null ? common.denied : describe(error);
  return (
    <Alert color="red" role="alert" title={message}>
      <Group justify="space-between" gap="sm">
        {failure?.requestId != null ? (
          <Text size="sm">
            {common.requestId} <Code>{failure.requestId}</Code>
          </Text>
        ) : (
          <span />
        )}
        {onRetry !== undefined && (
          <Button size="xs" variant="light" color="red" onClick={onRetry}>
            {common.retry}
          </Button>
        )}
      </Group>
    </Alert>
  );
}

/** The message of an error for people. */
export const describe = (error: unknown): string => (error instanceof Error ? error.message : String(error));
