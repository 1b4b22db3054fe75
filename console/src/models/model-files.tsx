import { Button, Group, Progress, Stack, Text } from '@mantine/core';
import { type UseMutationResult, useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, body, pollEvery } from '../api/client.ts';
import { useRefresh } from '../api/refresh.ts';
import type { Schema } from '../api/types.ts';
import { MODEL_SOURCE } from '../api/values.ts';
import { ConfirmButton, RowButton } from '../ui/confirm.tsx';
import { DataTable, numberColumn } from '../ui/data-table.tsx';
import { TextField } from '../ui/fields.tsx';
import { useFormat } from '../ui/format.ts';
import { fill } from '../ui/language.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { Section } from '../ui/page.tsx';
import { EmptyState, MutationError, UnfinishedQueries } from '../ui/states.tsx';
import { StatusBadge } from '../ui/status-badge.tsx';
import { Hint, ItemName } from '../ui/text.tsx';
import { ValidatedForm } from '../ui/validated-form.tsx';
import { useModelMessages } from './messages.ts';

type Files = Schema<'ModelFiles'>;
type Pull = Schema<'ModelPullStatus'>;

const PROGRESS_MS = 1_000;

/** Pulls with their progress, models on the disk, and models that can be pulled by name. */
export function ModelFilesPanel({ search }: { search: string }) {
  const refreshFiles = useRefresh('model-files');
  const refreshPulls = useRefresh('model-pulls');
  const files = useQuery({ queryKey: ['model-files'], queryFn: () => body(api.GET('/v1/admin/model-files')) });
  const pulls = useQuery({
    queryKey: ['model-pulls'],
    queryFn: async () => {
      const list = await body(api.GET('/v1/admin/model-pulls'));
      if (list.data.some(({ state }) => state !== 'pulling')) await refreshFiles();
      return list;
    },
    refetchInterval: pollEvery(PROGRESS_MS),
  });
  const start = useMutation({
    mutationFn: (source: string) => api.POST('/v1/admin/model-pulls', { body: { source } }),
    onSuccess: refreshPulls,
  });
  if (files.data === undefined || pulls.data === undefined) return <UnfinishedQueries queries={[files, pulls]} />;
  const matches = ({ name }: { name: string }) => name.toLowerCase().includes(search);
  const isShared = new Set(pulls.data.data.map(({ location }) => location)).size > 1;
  return (
    <Stack gap="lg">
      <PullForm start={start} />
      <MutationError mutation={start} />
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
          {...MODEL_SOURCE}
          style={{ flex: '1 1 260px' }}
          value={source}
          onChange={setSource}
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
  const refresh = useRefresh('model-pulls');
  const cancel = useMutation({
    mutationFn: () => api.POST('/v1/admin/model-pulls/{name}/cancel', { params: { path: { name: pull.name } } }),
    onSettled: refresh,
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
          <RowButton label={common.cancel} name={pull.name} loading={cancel.isPending} onClick={cancel.mutate} />
        )}
      </Group>
      {pull.state === 'pulling' && <Progress value={share * 100} aria-label={pull.name} />}
      <Hint>
        {fill(models.received, { received: format.bytes(received), total: total === null ? '–' : format.bytes(total) })}
      </Hint>
      {pull.detail !== null && <Text size="sm">{pull.detail}</Text>}
    </Stack>
  );
}

function StoredModels({ files }: { files: Files['data'] }) {
  const models = useModelMessages();
  const common = useCommonMessages();
  const format = useFormat();
  return (
    <Section title={models.onDisk}>
      {files.length === 0 ? (
        <EmptyState text={models.noFiles} />
      ) : (
        <DataTable<Files['data'][number]>
          label={models.onDisk}
          items={files}
          rowKey={({ name }) => name}
          columns={[
            { heading: common.name, cell: ({ name }) => <Text fw={500}>{name}</Text> },
            { heading: models.use, cell: ({ use }) => use ?? '–' },
            numberColumn(common.size, ({ bytes }) => format.bytes(bytes)),
            { heading: models.license, cell: ({ license }) => license ?? '–' },
          ]}
          actions={({ name }) => (
            <ConfirmButton
              label={common.delete}
              title={fill(models.deleteTitle, { name })}
              text={models.deleteText}
              action={() => api.DELETE('/v1/admin/model-files/{name}', { params: { path: { name } } })}
              refreshes={['model-files']}
            />
          )}
        />
      )}
    </Section>
  );
}

function AvailableModels({ models: available, onPull }: { models: Files['available']; onPull(name: string): void }) {
  const models = useModelMessages();
  const common = useCommonMessages();
  const format = useFormat();
  return (
    <Section title={models.available}>
      <DataTable<Files['available'][number]>
        label={models.available}
        items={available}
        rowKey={({ name }) => name}
        columns={[
          { heading: common.name, cell: ({ name, note }) => <ItemName name={name} note={note} /> },
          { heading: models.suits, cell: ({ suits }) => suits.join(', ') },
          numberColumn(common.size, ({ approximate_bytes: bytes }) => format.bytes(bytes)),
          { heading: models.license, cell: ({ license }) => license },
        ]}
        mainAction={({ name }) => <RowButton label={models.pull} name={name} onClick={() => onPull(name)} />}
      />
    </Section>
  );
}
