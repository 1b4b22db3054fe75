import { Button, Group, Progress, Stack, Text, Title } from '@mantine/core';
import { type UseMutationResult, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, body, pollEvery } from '../api/client.ts';
import type { paths } from '../api/schema.d.ts';
import { ConfirmButton } from '../ui/confirm.tsx';
import { DataTable } from '../ui/data-table.tsx';
import { TextField } from '../ui/fields.tsx';
import { useFormat } from '../ui/format.ts';
import { fill } from '../ui/language.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { EmptyState, ErrorState, LoadingState } from '../ui/states.tsx';
import { StatusBadge } from '../ui/status-badge.tsx';
import { ValidatedForm } from '../ui/validated-form.tsx';
import { useModelMessages } from './messages.ts';

type Files = paths['/v1/admin/model-files']['get']['responses'][200]['content']['application/json'];
type Pull = paths['/v1/admin/model-pulls']['get']['responses'][200]['content']['application/json']['data'][number];

const FILES_KEY = ['model-files'];
const PULLS_KEY = ['model-pulls'];
const PROGRESS_MS = 1_000;

/** Pulls with their progress, models on the disk, and models that can be pulled by name. */
export function ModelFilesPanel({ search }: { search: string }) {
  const queryClient = useQueryClient();
  const files = useQuery({ queryKey: FILES_KEY, queryFn: () => body(api.GET('/v1/admin/model-files')) });
  const pulls = useQuery({
    queryKey: PULLS_KEY,
    queryFn: async () => {
      const list = await body(api.GET('/v1/admin/model-pulls'));
      if (list.data.some(({ state }) => state !== 'pulling'))
        await queryClient.invalidateQueries({ queryKey: FILES_KEY });
      return list;
    },
    refetchInterval: pollEvery(PROGRESS_MS),
  });
  const start = useMutation({
    mutationFn: (source: string) => api.POST('/v1/admin/model-pulls', { body: { source } }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: PULLS_KEY }),
  });
  if (files.isPending || pulls.isPending) return <LoadingState />;
  if (files.isError) return <ErrorState error={files.error} onRetry={() => void files.refetch()} />;
  if (pulls.isError) return <ErrorState error={pulls.error} onRetry={() => void pulls.refetch()} />;
  const matches = ({ name }: { name: string }) => name.toLowerCase().includes(search);
  const isShared = new Set(pulls.data.data.map(({ location }) => location)).size > 1;
  return (
    <Stack gap="lg">
      <PullForm start={start} />
      {start.isError && <ErrorState error={start.error} />}
      {pulls.data.data.map((pull) => (
        <PullProgress key={`${pull.location}/${pull.name}`} pull={pull} hasLocation={isShared} />
      ))}
      <StoredModels files={files.data.data.filter(matches)} />
      <AvailableModels models={files.data.available.filter(matches)} onPull={(name) => start.mutate(name)} />
    </Stack>
  );
}

function PullForm({ start }: { start: UseMutationResult<unknown, Error, string> }) {
  const models = useModelMessages();
  const [source, setSource] = useState('');
  return (
    <ValidatedForm mutation={{ ...start, mutate: (_, options) => start.mutate(source.trim(), options) }}>
      <Group align="flex-end">
        <TextField
          param="source"
          label={models.source}
          description={models.sourceHint}
          required
          maxLength={512}
          style={{ flex: '1 1 260px' }}
          value={source}
          onChange={(event) => setSource(event.currentTarget.value)}
        />
        <Button type="submit" loading={start.isPending}>
          {models.pull}
        </Button>
      </Group>
    </ValidatedForm>
  );
}

/** `hasLocation`: several processes pull models. */
function PullProgress({ pull, hasLocation }: { pull: Pull; hasLocation: boolean }) {
  const models = useModelMessages();
  const common = useCommonMessages();
  const format = useFormat();
  const queryClient = useQueryClient();
  const cancel = useMutation({
    mutationFn: () => api.POST('/v1/admin/model-pulls/{name}/cancel', { params: { path: { name: pull.name } } }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: PULLS_KEY }),
  });
  const { received_bytes: received, total_bytes: total } = pull;
  const share = total === null || total === 0 ? 0 : received / total;
  return (
    <Stack gap={4} role="group" aria-label={pull.name}>
      <Group justify="space-between">
        <Group gap="xs">
          <Text fw={500}>{pull.name}</Text>
          <StatusBadge status={pull.state} />
          {hasLocation && <Text size="sm">{pull.location}</Text>}
        </Group>
        {pull.state === 'pulling' && (
          <Button size="xs" variant="default" loading={cancel.isPending} onClick={() => cancel.mutate()}>
            {common.cancel}
          </Button>
        )}
      </Group>
      {pull.state === 'pulling' && <Progress value={share * 100} aria-label={pull.name} />}
      <Text size="sm" c="dimmed">
        {fill(models.received, { received: format.bytes(received), total: total === null ? '–' : format.bytes(total) })}
      </Text>
      {pull.detail !== null && <Text size="sm">{pull.detail}</Text>}
    </Stack>
  );
}

function StoredModels({ files }: { files: Files['data'] }) {
  const models = useModelMessages();
  const common = useCommonMessages();
  const format = useFormat();
  const queryClient = useQueryClient();
  const remove = async (name: string) => {
    await api.DELETE('/v1/admin/model-files/{name}', { params: { path: { name } } });
    await queryClient.invalidateQueries({ queryKey: FILES_KEY });
  };
  return (
    <Stack gap="xs">
      <Title order={2} size="h4">
        {models.onDisk}
      </Title>
      {files.length === 0 ? (
        <EmptyState text={models.noFiles} />
      ) : (
        <DataTable
          label={models.onDisk}
          items={files}
          rowKey={({ name }) => name}
          columns={[
            { heading: common.name, cell: ({ name }) => <Text fw={500}>{name}</Text> },
            { heading: models.use, cell: ({ use }) => use ?? '–' },
            { heading: common.size, cell: ({ bytes }) => format.bytes(bytes), isNumber: true },
            { heading: models.license, cell: ({ license }) => license ?? '–' },
            {
              heading: common.actions,
              cell: ({ name }) => (
                <ConfirmButton
                  label={common.delete}
                  title={fill(models.deleteTitle, { name })}
                  text={models.deleteText}
                  action={() => remove(name)}
                />
              ),
            },
          ]}
        />
      )}
    </Stack>
  );
}

function AvailableModels({ models: available, onPull }: { models: Files['available']; onPull(name: string): void }) {
  const models = useModelMessages();
  const common = useCommonMessages();
  const format = useFormat();
  return (
    <Stack gap="xs">
      <Title order={2} size="h4">
        {models.available}
      </Title>
      <DataTable
        label={models.available}
        items={available}
        rowKey={({ name }) => name}
        columns={[
          {
            heading: common.name,
            cell: ({ name, note }) => (
              <div>
                <Text fw={500}>{name}</Text>
                <Text size="xs" c="dimmed">
                  {note}
                </Text>
              </div>
            ),
          },
          { heading: models.suits, cell: ({ suits }) => suits.join(', ') },
          { heading: common.size, cell: ({ approximate_bytes }) => format.bytes(approximate_bytes), isNumber: true },
          { heading: models.license, cell: ({ license }) => license },
          {
            heading: common.actions,
            cell: ({ name }) => (
              <Button size="xs" variant="default" onClick={() => onPull(name)} aria-label={`${models.pull} ${name}`}>
                {models.pull}
              </Button>
            ),
          },
        ]}
      />
    </Stack>
  );
}
