import { Alert, Button, Group, List, Progress, Stack, Text, Title } from '@mantine/core';
import { queryOptions, useMutation, useQuery } from '@tanstack/react-query';
import { api, body, pollEvery } from '../api/client.ts';
import { useRefresh } from '../api/refresh.ts';
import type { Schema } from '../api/types.ts';
import { useFormat } from '../ui/format.ts';
import { fill } from '../ui/language.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { ErrorState, MutationError } from '../ui/states.tsx';
import { useStartMessages } from './messages.ts';

const PROGRESS_MS = 1_000;

/** Loads the models that operators can pull. */
export const modelFilesQuery = queryOptions({
  queryKey: ['model-files'],
  queryFn: () => body(api.GET('/v1/admin/model-files')),
});

/**
 * Offers operators a real chat model while only the bundled one answers, with models for retrieval, and shows their
 * downloads. Nothing else.
 */
export function StartModel() {
  const files = useQuery(modelFilesQuery);
  if (files.data === undefined) return null;
  const { available, suggested, suggested_for_retrieval } = files.data;
  const chat = available.find(({ name }) => name === suggested);
  if (chat === undefined) return null;
  const retrieval = available.filter(({ name }) => suggested_for_retrieval.includes(name));
  return <ModelOffer chat={chat} retrieval={retrieval} />;
}

type Downloadable = Schema<'ModelFiles'>['available'][number];
type PullModel = Schema<'PullModel'>;

function ModelOffer({ chat, retrieval }: { chat: Downloadable; retrieval: readonly Downloadable[] }) {
  const start = useStartMessages();
  const format = useFormat();
  const refreshPulls = useRefresh('model-pulls');
  const offered = [chat, ...retrieval];
  const latest = useLatestPulls(offered);
  const isRunning = latest.some(({ state }) => state === 'pulling');
  const pull = useMutation({
    mutationFn: (others: readonly Downloadable[]) =>
      body(
        api.POST('/v1/admin/model-pulls', {
          body: { source: chat.name, bind: true, with: others.map(({ name }) => name) as PullModel['with'] & object },
        }),
      ),
    onSettled: refreshPulls,
  });
  const describe = ({ name, approximate_bytes, license }: Downloadable) => ({
    model: name,
    size: format.bytes(approximate_bytes),
    license,
  });
  const totalBytes = offered.reduce((sum, { approximate_bytes }) => sum + approximate_bytes, 0);
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
        <Text>{fill(start.modelText, describe(chat))}</Text>
        {retrieval.length > 0 && <RetrievalModels models={retrieval.map(describe)} />}
        <Downloads offered={offered} latest={latest} />
        <MutationError mutation={pull} />
        {!isRunning && (
          <DownloadButtons
            chat={describe(chat)}
            all={{ count: offered.length, size: format.bytes(totalBytes) }}
            isPending={pull.isPending}
            onDownload={(isWhole) => pull.mutate(isWhole ? retrieval : [])}
          />
        )}
      </Stack>
    </Alert>
  );
}

type Pull = Schema<'ModelPullList'>['data'][number];

/** The latest pull of each model that has one. */
function useLatestPulls(models: readonly Downloadable[]): Pull[] {
  const refreshFiles = useRefresh('model-files');
  const pulls = useQuery({
    queryKey: ['model-pulls'],
    queryFn: async () => {
      const list = await body(api.GET('/v1/admin/model-pulls'));
      // The model answers from now on.
      if (list.data.some(({ state }) => state === 'completed')) await refreshFiles();
      return list;
    },
    refetchInterval: pollEvery(PROGRESS_MS),
  });
  return models.flatMap(({ name }) => pulls.data?.data.findLast((one) => one.name === name) ?? []);
}

/** The progress of running downloads, and the errors of failed ones. */
function Downloads({ offered, latest }: { offered: readonly Downloadable[]; latest: readonly Pull[] }) {
  const common = useCommonMessages();
  const findBytes = (name: string) => offered.find((one) => one.name === name)?.approximate_bytes ?? 0;
  return latest.map(({ name, state, received_bytes, total_bytes, detail }) => {
    if (state === 'failed') return <ErrorState key={name} error={new Error(detail ?? common.unreachable)} />;
    if (state !== 'pulling') return null;
    return (
      <DownloadProgress key={name} model={name} received={received_bytes} total={total_bytes ?? findBytes(name)} />
    );
  });
}

/** A model as the texts name it. */
interface ModelFacts extends Record<string, string> {
  model: string;
  size: string;
  license: string;
}

/** The models for retrieval that are downloaded with the chat model. */
function RetrievalModels({ models }: { models: readonly ModelFacts[] }) {
  const start = useStartMessages();
  return (
    <>
      <Text>{start.retrievalText}</Text>
      <List size="sm">
        {models.map(({ model, size, license }) => (
          <List.Item key={model}>
            {model} ({size}, {license})
          </List.Item>
        ))}
      </List>
    </>
  );
}

interface DownloadButtonsProps {
  chat: ModelFacts;
  all: { count: number; size: string };
  isPending: boolean;
  /** `isWhole`: all models; otherwise the chat model only. */
  onDownload(isWhole: boolean): void;
}

function DownloadButtons({ chat, all, isPending, onDownload }: DownloadButtonsProps) {
  const start = useStartMessages();
  const hasMore = all.count > 1;
  return (
    <Group>
      {hasMore && (
        <Button onClick={() => onDownload(true)} loading={isPending}>
          {fill(start.downloadAll, { count: String(all.count), size: all.size })}
        </Button>
      )}
      <Button variant={hasMore ? 'default' : 'filled'} onClick={() => onDownload(false)} loading={isPending}>
        {fill(start.download, chat)}
      </Button>
    </Group>
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
