import { Anchor, Button, Group, Progress, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { api, body } from '../api/client.ts';
import type { paths } from '../api/schema.d.ts';
import { useMayWrite, useSession } from '../api/session.ts';
import { useFormat } from '../ui/format.ts';
import { fill } from '../ui/language.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { Page } from '../ui/page.tsx';
import { type Column, ResourceTable } from '../ui/resource-table.tsx';
import { EmptyState } from '../ui/states.tsx';
import { StatusBadge } from '../ui/status-badge.tsx';
import { BatchCreateDialog } from './create-batch.tsx';
import { useBatchMessages } from './messages.ts';

/** A batch as the API lists it. */
export type ListedBatch = paths['/v1/batches']['get']['responses'][200]['content']['application/json']['data'][number];

/** States in which a batch changes by itself. */
export const RUNNING: ReadonlySet<ListedBatch['status']> = new Set([
  'validating',
  'in_progress',
  'finalizing',
  'cancelling',
]);
/** Milliseconds between reads while a batch runs. */
export const REFRESH_MS = 2_000;

/** Batches, newest first, with their progress. */
export function BatchesPage() {
  const batches = useBatchMessages();
  const mayWrite = useMayWrite();
  const { organization } = useSession();
  const queryClient = useQueryClient();
  const navigate = useNavigate({ from: '/batches' });
  const { create: isCreating = false } = useSearch({ from: '/shell/batches' });
  const setCreating = (create: boolean) => void navigate({ search: create ? { create } : {}, replace: true });
  const columns = useColumns();
  const create = mayWrite ? <Button onClick={() => setCreating(true)}>{batches.create}</Button> : undefined;
  return (
    <Page title={batches.title} intro={batches.intro} action={create}>
      <ResourceTable<ListedBatch>
        label={batches.title}
        queryKey={['batches', organization.id]}
        refreshMs={REFRESH_MS}
        fetchPage={(after) => {
          const query = { after, limit: 20, order: 'desc' as const };
          return body(api.GET('/v1/batches', { params: { query } }));
        }}
        rowKey={(batch) => batch.id}
        empty={
          <EmptyState text={batches.empty}>
            <Text c="dimmed" size="sm" ta="center">
              {batches.emptyHint}
            </Text>
            {create}
          </EmptyState>
        }
        columns={columns}
      />
      {isCreating && (
        <BatchCreateDialog
          file={null}
          onClose={() => setCreating(false)}
          onCreated={(id) => {
            void queryClient.invalidateQueries({ queryKey: ['batches', organization.id] });
            void navigate({ to: '/batches/$batchId', params: { batchId: id }, search: {} });
          }}
        />
      )}
    </Page>
  );
}

function useColumns(): Column<ListedBatch>[] {
  const batches = useBatchMessages();
  const common = useCommonMessages();
  const format = useFormat();
  return [
    {
      heading: batches.batch,
      cell: (batch) => (
        <div>
          <Anchor
            component={Link}
            to="/batches/$batchId"
            params={{ batchId: batch.id } as never}
            aria-label={`${batches.batch} ${format.time(batch.created_at)}`}
            fw={500}
          >
            {format.time(batch.created_at)}
          </Anchor>
          <Text size="xs" c="dimmed">
            …{batch.id.slice(-8)}
          </Text>
        </div>
      ),
    },
    { heading: batches.endpoint, cell: (batch) => batch.endpoint },
    {
      heading: common.status,
      cell: ({ status }) => <StatusBadge status={status} />,
    },
    { heading: batches.progress, cell: (batch) => <BatchProgress batch={batch} /> },
    { heading: batches.cost, cell: (batch) => format.money(batch.cost_micros), isNumber: true },
    {
      heading: batches.duration,
      cell: (batch) => (batch.completed_at === null ? '–' : format.elapsed(batch.created_at, batch.completed_at)),
      isNumber: true,
    },
  ];
}

/** A bar of the requests that have ended, and their numbers. */
export function BatchProgress({ batch }: { batch: Pick<ListedBatch, 'request_counts'> }) {
  const batches = useBatchMessages();
  const format = useFormat();
  const { total, completed, failed } = batch.request_counts;
  const percent = (count: number) => (total === 0 ? 0 : (100 * count) / total);
  return (
    <div style={{ minWidth: 140 }}>
      <Progress.Root size="md">
        <Progress.Section value={percent(completed)} color="teal" aria-label={batches.output} />
        <Progress.Section value={percent(failed)} color="red" aria-label={batches.errors} />
      </Progress.Root>
      <Group gap={6} mt={4}>
        <Text size="xs" c="dimmed">
          {format.number(completed + failed)} / {format.number(total)}
        </Text>
        {failed > 0 && (
          <Text size="xs" c="dimmed">
            · {fill(batches.failedCount, { count: format.number(failed) })}
          </Text>
        )}
      </Group>
    </div>
  );
}
