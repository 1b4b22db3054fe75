import { Alert, Button, Group, Progress, Stack, Text, Title } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { api, body, pollEvery } from '../api/client.ts';
import { useRefresh } from '../api/refresh.ts';
import { useFormat } from '../ui/format.ts';
import { fill } from '../ui/language.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { ErrorState, MutationError } from '../ui/states.tsx';
import { useStartMessages } from './messages.ts';

const PROGRESS_MS = 1_000;

/** Offers operators a real chat model while only the bundled one answers, and shows its download. Nothing else. */
export function StartModel() {
  const start = useStartMessages();
  const common = useCommonMessages();
  const format = useFormat();
  const refreshFiles = useRefresh('model-files');
  const refreshPulls = useRefresh('model-pulls');
  const files = useQuery({ queryKey: ['model-files'], queryFn: () => body(api.GET('/v1/admin/model-files')) });
  const suggested = files.data?.available.find(({ name }) => name === files.data.suggested);
  const pulls = useQuery({
    queryKey: ['model-pulls'],
    queryFn: async () => {
      const list = await body(api.GET('/v1/admin/model-pulls'));
      // The model answers from now on.
      if (list.data.some(({ state }) => state === 'completed')) await refreshFiles();
      return list;
    },
    enabled: suggested !== undefined,
    refetchInterval: pollEvery(PROGRESS_MS),
  });
  const pull = useMutation({
    mutationFn: (source: string) => body(api.POST('/v1/admin/model-pulls', { body: { source, bind: true } })),
    onSuccess: refreshPulls,
  });
  if (suggested === undefined) return null;
  const { name, approximate_bytes, license } = suggested;
  const current = pulls.data?.data.findLast((one) => one.name === name);
  const isRunning = current?.state === 'pulling';
  const facts = { model: name, size: format.bytes(approximate_bytes), license };
  return (
    <Alert
      color="blue"
      title={
        <Title order={2} size="h4">
          {start.model}
        </Title>
      }
    >
      <Stack gap="sm">
        <Text>{fill(start.modelText, facts)}</Text>
        {isRunning && (
          <DownloadProgress
            model={name}
            received={current.received_bytes}
            total={current.total_bytes ?? approximate_bytes}
          />
        )}
        {current?.state === 'failed' && <ErrorState error={new Error(current.detail ?? common.unreachable)} />}
        <MutationError mutation={pull} />
        {!isRunning && (
          <Group>
            <Button onClick={() => pull.mutate(name)} loading={pull.isPending}>
              {fill(start.download, facts)}
            </Button>
          </Group>
        )}
      </Stack>
    </Alert>
  );
}

interface DownloadProgressProps {
  model: string;
  /** Bytes. */
  received: number;
  total: number;
}

function DownloadProgress({ model, received, total }: DownloadProgressProps) {
  const start = useStartMessages();
  const format = useFormat();
  return (
    <div role="status">
      <Progress value={(received / total) * 100} aria-label={model} />
      <Text size="sm" mt={4}>
        {fill(start.received, { received: format.bytes(received), total: format.bytes(total) })}
      </Text>
    </div>
  );
}
