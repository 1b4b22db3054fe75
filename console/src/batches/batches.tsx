import { Button, Group, Progress } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { api } from '../api/client.ts';
import { readAgain } from '../api/refresh.ts';
import { useMayWrite, useSession } from '../api/session.ts';
import type { Schema } from '../api/types.ts';
import { BATCH_LIMITS } from '../api/values.ts';
import { type Column, numberColumn } from '../ui/data-table.tsx';
import { useFormat } from '../ui/format.ts';
import { fill } from '../ui/language.tsx';
import { lazyPart } from '../ui/lazy-part.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { Page } from '../ui/page.tsx';
import { ResourceTable } from '../ui/resource-table.tsx';
import { EmptyState } from '../ui/states.tsx';
import { StatusBadge } from '../ui/status-badge.tsx';
import { Hint, ItemName, PageLink } from '../ui/text.tsx';
import { useBatchMessages } from './messages.ts';

const BatchCreateDialog = lazyPart(() => import('./create-batch.tsx'), 'BatchCreateDialog');

/** A batch as the API lists it. */
export type ListedBatch = Schema<'ListedBatch'>;

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
  const intro = fill(batches.intro, { count: useFormat().number(BATCH_LIMITS.max_lines) });
  const create = mayWrite ? <Button onClick={() => setCreating(true)}>{batches.create}</Button> : undefined;
  return (
    <Page title={batches.title} intro={intro} action={create}>
      <ResourceTable<ListedBatch>
        label={batches.title}
        queryKey={['batches', organization.id]}
        refreshMs={REFRESH_MS}
        fetchPage={(page) => api.GET('/v1/batches', { params: { query: { ...page, order: 'desc' } } })}
        empty={
          <EmptyState text={batches.empty}>
            <Hint ta="center">{batches.emptyHint}</Hint>
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
            void readAgain(queryClient, ['batches', organization.id]);
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
      cell: ({ id, created_at: seconds }) => {
        const time = format.time(seconds);
        const link = (
          <PageLink to="/batches/$batchId" params={{ batchId: id }} aria-label={`${batches.batch} ${time}`}>
            {time}
          </PageLink>
        );
        return <ItemName name={link} note={`…${id.slice(-8)}`} />;
      },
    },
    { heading: batches.endpoint, cell: (batch) => batch.endpoint },
    { heading: common.status, cell: ({ status }) => <StatusBadge status={status} /> },
    { heading: batches.progress, cell: (batch) => <BatchProgress batch={batch} /> },
    numberColumn(batches.cost, (batch) => format.money(batch.cost_micros)),
    numberColumn(batches.duration, ({ created_at: start, completed_at: end }) =>
      end === null ? '–' : format.elapsed(start, end),
    ),
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
        <Hint size="xs">
          {format.number(completed + failed)} / {format.number(total)}
        </Hint>
        {failed > 0 && <Hint size="xs">· {fill(batches.failedCount, { count: format.number(failed) })}</Hint>}
      </Group>
    </div>
  );
}
