import { Anchor, Button, Group, List, Progress, Stack, Text } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api, body } from '../api/client.ts';
import { useMayWrite } from '../api/session.ts';
import { ConfirmButton } from '../ui/confirm.tsx';
import { useFormat } from '../ui/format.ts';
import { fill } from '../ui/language.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { ResourceTable } from '../ui/resource-table.tsx';
import { EmptyState, ErrorState, LoadingState } from '../ui/states.tsx';
import { StatusBadge } from '../ui/status-badge.tsx';
import { isFinished, type Job, type LiveJobs, readJobs } from './job-events.ts';
import { useKnowledgeBaseMessages } from './messages.ts';

/** The ingestion jobs of a knowledge base, newest first, live while they run. */
export function Jobs({ kbId, live }: { kbId: string; live: LiveJobs }) {
  const kb = useKnowledgeBaseMessages();
  const common = useCommonMessages();
  const format = useFormat();
  const mayWrite = useMayWrite();
  const sources = useSourceNames(kbId);
  const latest = (job: Job): Job => live.jobs.get(job.id) ?? job;
  return (
    <ResourceTable<Job>
      label={kb.jobs}
      queryKey={['jobs', kbId]}
      fetchPage={(after) => readJobs(kbId, after)}
      rowKey={(job) => job.id}
      empty={<EmptyState text={kb.noJobs} />}
      columns={[
        {
          heading: kb.source,
          cell: (job) => (
            <div style={{ minWidth: 160, overflowWrap: 'anywhere' }}>
              <Text size="sm" fw={500}>
                {sources.get(job.data_source_id) ?? job.data_source_id}
              </Text>
              <Text size="xs" c="dimmed">
                {format.time(job.created_at)}
              </Text>
            </div>
          ),
        },
        { heading: common.status, cell: (job) => <StatusBadge status={latest(job).status} /> },
        { heading: kb.progress, cell: (job) => <JobProgress job={latest(job)} /> },
        { heading: kb.chunks, cell: (job) => format.number(latest(job).chunks_created), isNumber: true },
        { heading: kb.error, cell: (job) => <JobErrors kbId={kbId} job={latest(job)} /> },
        ...(mayWrite
          ? [{ heading: common.actions, cell: (job: Job) => <CancelJob kbId={kbId} job={latest(job)} /> }]
          : []),
      ]}
    />
  );
}

/** Names of the first 100 data sources, by id. */
function useSourceNames(kbId: string): ReadonlyMap<string, string> {
  const { data } = useQuery({
    queryKey: ['data-sources', kbId, 'options'],
    queryFn: () =>
      body(
        api.GET('/v1/knowledge-bases/{kb_id}/data-sources', {
          params: { path: { kb_id: kbId }, query: { limit: 100 } },
        }),
      ),
  });
  return new Map((data?.data ?? []).map(({ id, name }) => [id, name]));
}

/** Progress of a job: documents done and documents found so far. */
export function JobProgress({ job }: { job: Job }) {
  const kb = useKnowledgeBaseMessages();
  const format = useFormat();
  const done = job.documents_processed + job.documents_failed + job.documents_skipped;
  const total = Math.max(job.documents_scanned, done);
  const share = isFinished(job) && job.status === 'completed' ? 1 : done / Math.max(total, 1);
  const color = job.status === 'failed' ? 'red' : job.status === 'completed' ? 'teal' : 'blue';
  const parts = [
    [kb.added, job.documents_new],
    [kb.changed, job.documents_modified],
    [kb.skipped, job.documents_skipped],
    [kb.removed, job.documents_deleted],
  ] as const;
  const details = parts.filter(([, count]) => count > 0).map(([label, count]) => `${format.number(count)} ${label}`);
  return (
    <div style={{ minWidth: 160 }}>
      <Text size="xs">{fill(kb.progressText, { done: format.number(done), total: format.number(total) })}</Text>
      <Progress value={share * 100} color={color} aria-label={kb.progress} animated={job.status === 'processing'} />
      {details.length > 0 && (
        <Text size="xs" c="dimmed">
          {details.join(' · ')}
        </Text>
      )}
    </div>
  );
}

function JobErrors({ kbId, job }: { kbId: string; job: Job }) {
  const kb = useKnowledgeBaseMessages();
  const format = useFormat();
  const [isOpen, setOpen] = useState(false);
  return (
    <Stack gap={4} style={{ minWidth: 160 }}>
      {job.error !== null && (
        <Text c="red" size="sm" style={{ overflowWrap: 'anywhere' }}>
          {job.error.message}
        </Text>
      )}
      {job.documents_pending_deletion > 0 && (
        <Text size="sm" c="dimmed">
          {fill(kb.pendingDeletion, { count: format.number(job.documents_pending_deletion) })}
        </Text>
      )}
      {job.documents_failed > 0 && (
        <Button
          size="compact-sm"
          variant="subtle"
          color="red"
          w="fit-content"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        >
          {fill(kb.failedDocuments, { count: format.number(job.documents_failed) })}
        </Button>
      )}
      {isOpen && <FailedDocuments kbId={kbId} job={job} />}
    </Stack>
  );
}

/** The first failed documents of a job, each with its error. */
function FailedDocuments({ kbId, job }: { kbId: string; job: Job }) {
  const query = useQuery({
    queryKey: ['job', kbId, job.id, job.documents_failed],
    queryFn: () =>
      body(
        api.GET('/v1/knowledge-bases/{kb_id}/ingestion-jobs/{job_id}', {
          params: { path: { kb_id: kbId, job_id: job.id }, query: { details_status: 'failed' } },
        }),
      ),
  });
  if (query.isPending) return <LoadingState />;
  if (query.isError) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />;
  return (
    <List size="sm" mah={260} style={{ overflowY: 'auto' }} tabIndex={0}>
      {query.data.document_details.map(({ document_id: id, document_name: name, error }) => (
        <List.Item key={id} style={{ overflowWrap: 'anywhere' }}>
          <Anchor
            component={Link}
            to="/knowledge-bases/$kbId/documents/$documentId"
            params={{ kbId, documentId: id } as never}
            size="sm"
          >
            {name}
          </Anchor>
          <Text size="sm" c="red">
            {error?.message}
          </Text>
        </List.Item>
      ))}
    </List>
  );
}

function CancelJob({ kbId, job }: { kbId: string; job: Job }) {
  const kb = useKnowledgeBaseMessages();
  const queryClient = useQueryClient();
  if (isFinished(job)) return null;
  return (
    <Group gap={4}>
      <ConfirmButton
        label={kb.cancelJob}
        title={kb.cancelJobTitle}
        text={kb.cancelJobText}
        action={async () => {
          const params = { path: { kb_id: kbId, job_id: job.id } };
          await api.POST('/v1/knowledge-bases/{kb_id}/ingestion-jobs/{job_id}/cancel', { params });
          await queryClient.invalidateQueries({ queryKey: ['jobs', kbId] });
        }}
      />
    </Group>
  );
}
