import { Alert, Button, Group, Paper, SimpleGrid, Stack, Tabs, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { api, body } from '../api/client.ts';
import { useMayWrite, useSession } from '../api/session.ts';
import type { Schema } from '../api/types.ts';
import { ConfirmButton } from '../ui/confirm.tsx';
import { Fact } from '../ui/fact.tsx';
import { useFormat } from '../ui/format.ts';
import { useCommonMessages } from '../ui/messages.ts';
import { Page } from '../ui/page.tsx';
import { EmptyState, MutationError, QueryData } from '../ui/states.tsx';
import { StatusBadge } from '../ui/status-badge.tsx';
import { Hint, PageLink } from '../ui/text.tsx';
import { BatchProgress, REFRESH_MS, RUNNING } from './batches.tsx';
import { LineTable } from './check-report.tsx';
import { BatchCreateDialog } from './create-batch.tsx';
import { useBatchMessages } from './messages.ts';
import { collectFailedLines } from './read-results.ts';
import { BatchResults } from './results.tsx';

type Batch = Schema<'Batch'>;

/** A batch with its progress and results. */
export function BatchPage() {
  const batches = useBatchMessages();
  const { batchId } = useParams({ from: '/shell/batches/$batchId' });
  const { organization } = useSession();
  const query = useQuery({
    queryKey: ['batches', organization.id, batchId],
    queryFn: () => body(api.GET('/v1/batches/{batch_id}', { params: { path: { batch_id: batchId } } })),
    refetchInterval: ({ state }) => (state.data !== undefined && RUNNING.has(state.data.status) ? REFRESH_MS : false),
  });
  const batch = query.data;
  return (
    <Page
      title={`${batches.batch} …${batchId.slice(-8)}`}
      parents={<PageLink to="/batches">{batches.title}</PageLink>}
      action={batch !== undefined && <BatchActions key={batch.id} batch={batch} />}
    >
      <QueryData query={query}>
        {(read) => (
          <>
            <BatchFacts batch={read} />
            {read.errors === null ? <ResultTabs batch={read} /> : <ValidationErrors errors={read.errors.data} />}
          </>
        )}
      </QueryData>
    </Page>
  );
}

function BatchFacts({ batch }: { batch: Batch }) {
  const batches = useBatchMessages();
  const common = useCommonMessages();
  const format = useFormat();
  const ended = batch.completed_at ?? batch.failed_at ?? batch.cancelled_at ?? batch.expired_at;
  const isRunning = RUNNING.has(batch.status);
  return (
    <Paper withBorder p="md">
      <SimpleGrid cols={{ base: 2, md: 3, lg: 6 }}>
        <Fact label={common.status}>
          <StatusBadge status={batch.status} />
        </Fact>
        <Fact label={batches.progress}>
          <BatchProgress batch={batch} />
        </Fact>
        <Fact label={isRunning ? batches.costSoFar : batches.cost}>{format.money(batch.cost_micros)}</Fact>
        <Fact label={batches.endpoint}>
          <Text size="sm">{batch.endpoint}</Text>
        </Fact>
        <Fact label={common.created}>{format.time(batch.created_at)}</Fact>
        <Fact label={batches.duration}>{format.elapsed(batch.created_at, ended ?? Math.floor(Date.now() / 1000))}</Fact>
      </SimpleGrid>
      <Hint mt="md" className="breakable">
        {batch.id}
      </Hint>
    </Paper>
  );
}

function BatchActions({ batch }: { batch: Batch }) {
  const batches = useBatchMessages();
  const mayWrite = useMayWrite();
  const params = { path: { batch_id: batch.id } };
  return (
    <Group gap="xs">
      <Download fileId={batch.output_file_id} name={`${batch.id}-results.jsonl`} label={batches.downloadOutput} />
      <Download fileId={batch.error_file_id} name={`${batch.id}-errors.jsonl`} label={batches.downloadErrors} />
      {mayWrite && batch.error_file_id !== null && <RetryButton batch={batch} errorFile={batch.error_file_id} />}
      {mayWrite && RUNNING.has(batch.status) && (
        <ConfirmButton
          label={batches.cancelBatch}
          title={`${batches.batch} …${batch.id.slice(-8)}`}
          text={batches.cancelText}
          action={() => api.POST('/v1/batches/{batch_id}/cancel', { params })}
          refreshes={['batches']}
        />
      )}
    </Group>
  );
}

function Download({ fileId, name, label }: { fileId: string | null; name: string; label: string }) {
  if (fileId === null) return null;
  return (
    <Button component="a" href={`/v1/files/${fileId}/content`} download={name} variant="default">
      {label}
    </Button>
  );
}

/** Creates a batch of the lines that have failed. */
function RetryButton({ batch, errorFile }: { batch: Batch; errorFile: string }) {
  const batches = useBatchMessages();
  const navigate = useNavigate();
  const [file, setFile] = useState<File | null>(null);
  const collect = useMutation({
    mutationFn: () => collectFailedLines(errorFile, batch.input_file_id, `${batch.id}-retry.jsonl`),
    onSuccess: setFile,
  });
  return (
    <>
      <Button onClick={() => collect.mutate()} loading={collect.isPending}>
        {batches.retryFailed}
      </Button>
      <MutationError mutation={collect} />
      {file !== null && (
        <BatchCreateDialog
          file={file}
          onClose={() => setFile(null)}
          onCreated={(id) => void navigate({ to: '/batches/$batchId', params: { batchId: id }, search: {} })}
        />
      )}
    </>
  );
}

function ResultTabs({ batch }: { batch: Batch }) {
  const batches = useBatchMessages();
  const { show = batch.output_file_id === null && batch.error_file_id !== null ? 'errors' : 'results' } = useSearch({
    from: '/shell/batches/$batchId',
  });
  const navigate = useNavigate({ from: '/batches/$batchId' });
  if (RUNNING.has(batch.status)) return <EmptyState text={batches.running} />;
  const files = { results: batch.output_file_id, errors: batch.error_file_id };
  const empty = { results: batches.noResults, errors: batches.noErrors };
  return (
    <Tabs value={show} onChange={(tab) => void navigate({ search: { show: tab === 'errors' ? 'errors' : 'results' } })}>
      <Tabs.List mb="md">
        <Tabs.Tab value="results">{batches.output}</Tabs.Tab>
        <Tabs.Tab value="errors">{batches.errors}</Tabs.Tab>
      </Tabs.List>
      {(['results', 'errors'] as const).map((tab) => {
        const results = files[tab];
        return (
          <Tabs.Panel key={tab} value={tab}>
            {results === null && <EmptyState text={empty[tab]} />}
            {results !== null && show === tab && <BatchResults files={{ results, input: batch.input_file_id }} />}
          </Tabs.Panel>
        );
      })}
    </Tabs>
  );
}

function ValidationErrors({ errors }: { errors: NonNullable<Batch['errors']>['data'] }) {
  const batches = useBatchMessages();
  return (
    <Stack>
      <Alert color="red" title={batches.validationErrors} />
      <LineTable items={errors.map(({ line, code, message }) => ({ line, reason: message, code }))} />
    </Stack>
  );
}
