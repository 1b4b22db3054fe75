import { Anchor, Button, FileInput, Group, Modal, Progress, Select, Stack, Text } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, body } from '../api/client.ts';
import type { paths } from '../api/schema.d.ts';
import { useMayWrite, useSession } from '../api/session.ts';
import { uploadFile } from '../api/upload.ts';
import { ConfirmButton } from '../components/confirm.tsx';
import { useFormat } from '../components/format.ts';
import { Page } from '../components/page.tsx';
import { ResourceTable } from '../components/resource-table.tsx';
import { EmptyState, ErrorState } from '../components/states.tsx';
import { StatusBadge } from '../components/status-badge.tsx';
import { useMessages } from '../messages/index.tsx';

type Batch = paths['/v1/batches']['get']['responses'][200]['content']['application/json']['data'][number];
type Endpoint = Batch['endpoint'];

const ENDPOINTS: readonly Endpoint[] = ['/v1/chat/completions', '/v1/completions', '/v1/embeddings'];
const RUNNING: ReadonlySet<Batch['status']> = new Set(['validating', 'in_progress', 'finalizing', 'cancelling']);
const REFRESH_MS = 2_000;

/** Batches with their progress. */
export function BatchesPage() {
  const { batches, common } = useMessages();
  const format = useFormat();
  const mayWrite = useMayWrite();
  const { organization } = useSession();
  const queryClient = useQueryClient();
  const [isCreating, setCreating] = useState(false);
  const queryKey = ['batches', organization.id];
  const refresh = () => queryClient.invalidateQueries({ queryKey });
  const create = mayWrite ? <Button onClick={() => setCreating(true)}>{batches.create}</Button> : undefined;
  return (
    <Page title={batches.title} intro={batches.intro} action={create}>
      <ResourceTable<Batch>
        label={batches.title}
        queryKey={queryKey}
        refreshMs={REFRESH_MS}
        fetchPage={(after) => body(api.GET('/v1/batches', { params: { query: { after, limit: 20 } } }))}
        rowKey={(batch) => batch.id}
        empty={<EmptyState text={batches.empty}>{create}</EmptyState>}
        columns={[
          { heading: common.created, cell: (batch) => format.time(batch.created_at) },
          { heading: batches.endpoint, cell: (batch) => batch.endpoint },
          { heading: common.status, cell: (batch) => <StatusBadge status={batch.status} /> },
          { heading: batches.progress, cell: (batch) => <BatchProgress batch={batch} /> },
          {
            heading: batches.output,
            cell: (batch) =>
              batch.output_file_id !== null && (
                <Anchor href={`/v1/files/${batch.output_file_id}/content`} download={`${batch.id}.jsonl`} size="sm">
                  {batches.output}
                </Anchor>
              ),
          },
          {
            heading: common.actions,
            cell: (batch) =>
              mayWrite &&
              RUNNING.has(batch.status) && (
                <ConfirmButton
                  label={batches.cancelBatch}
                  title={`${batches.cancelBatch}: ${batch.id}`}
                  text={batch.endpoint}
                  action={async () => {
                    await api.POST('/v1/batches/{batch_id}/cancel', { params: { path: { batch_id: batch.id } } });
                    await refresh();
                  }}
                />
              ),
          },
        ]}
      />
      <CreateDialog
        isOpen={isCreating}
        onClose={() => {
          setCreating(false);
          void refresh();
        }}
      />
    </Page>
  );
}

function BatchProgress({ batch }: { batch: Batch }) {
  const { batches } = useMessages();
  const format = useFormat();
  const { total, completed, failed } = batch.request_counts;
  const percent = (count: number) => (total === 0 ? 0 : (100 * count) / total);
  return (
    <div>
      <Progress.Root size="md">
        <Progress.Section value={percent(completed)} color="teal" aria-label={batches.output} />
        <Progress.Section value={percent(failed)} color="red" aria-label={batches.errors} />
      </Progress.Root>
      <Text size="xs" c="dimmed">
        {format.number(completed + failed)} / {format.number(total)}
        {failed > 0 && ` · ${batches.errors}: ${format.number(failed)}`}
      </Text>
    </div>
  );
}

function CreateDialog({ isOpen, onClose }: { isOpen: boolean; onClose(): void }) {
  const { batches, common } = useMessages();
  const [file, setFile] = useState<File | null>(null);
  const [endpoint, setEndpoint] = useState<Endpoint>('/v1/chat/completions');
  const [share, setShare] = useState(0);
  const mutation = useMutation({
    mutationFn: async (input: File) => {
      const { id } = await uploadFile(input, 'batch', setShare);
      return body(api.POST('/v1/batches', { body: { input_file_id: id, endpoint, completion_window: '24h' } }));
    },
    onSuccess: onClose,
  });
  return (
    <Modal opened={isOpen} onClose={onClose} title={batches.create}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (file !== null) mutation.mutate(file);
        }}
      >
        <Stack>
          <FileInput label={batches.file} required accept=".jsonl,application/jsonl" value={file} onChange={setFile} />
          <Select
            label={batches.endpoint}
            allowDeselect={false}
            data={[...ENDPOINTS]}
            value={endpoint}
            onChange={(value) => value !== null && setEndpoint(value as Endpoint)}
          />
          {mutation.isPending && <Progress value={share * 100} aria-label={batches.file} />}
          {mutation.isError && <ErrorState error={mutation.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {common.cancel}
            </Button>
            <Button type="submit" loading={mutation.isPending} disabled={file === null}>
              {common.create}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
