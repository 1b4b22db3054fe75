import { Anchor, List, Progress, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, body } from '../api/client.ts';
import { useMayWrite } from '../api/session.ts';
import { ConfirmButton } from '../ui/confirm.tsx';
import { numberColumn } from '../ui/data-table.tsx';
import { useFormat } from '../ui/format.ts';
import { fill } from '../ui/language.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { ResourceTable } from '../ui/resource-table.tsx';
import { QueryData } from '../ui/states.tsx';
import { StatusBadge } from '../ui/status-badge.tsx';
import { ErrorText, Hint, ItemName, PageLink } from '../ui/text.tsx';
import { isFinished, type Job, type LiveJobs, readJobs } from './job-events.ts';
import { useKnowledgeBaseMessages } from './messages.ts';
import { useDataSources } from './use-data-sources.ts';

/** The ingestion jobs of a knowledge base, newest first, live while they run. */
export function Jobs({ kbId, live }: { kbId: string; live: LiveJobs }) {
  const kb = useKnowledgeBaseMessages();
  const common = useCommonMessages();
  const format = useFormat();
  const mayWrite = useMayWrite();
  const sources = new Map((useDataSources(kbId).data?.data ?? []).map(({ id, name }) => [id, name]));
  const latest = (job: Job): Job => live.jobs.get(job.id) ?? job;
  return (
    <ResourceTable<Job>
      label={kb.jobs}
      queryKey={['jobs', kbId]}
      fetchPage={(page) => readJobs(kbId, page)}
      empty={kb.noJobs}
      columns={[
        {
          heading: kb.source,
          cell: ({ data_source_id: id, created_at: time }) => (
            <ItemName name={sources.get(id) ?? id} note={format.time(time)} />
          ),
        },
        { heading: common.status, cell: (job) => <StatusBadge status={latest(job).status} /> },
        { heading: kb.progress, cell: (job) => <JobProgress job={latest(job)} /> },
        numberColumn(kb.chunks, (job) => format.number(latest(job).chunks_created)),
        { heading: kb.error, cell: (job) => <JobErrors kbId={kbId} job={latest(job)} /> },
      ]}
      actions={mayWrite ? (job) => <CancelJob kbId={kbId} job={latest(job)} /> : null}
    />
  );
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
      <Hint size="xs">{details.join(' · ')}</Hint>
      {job.reading.map(({ document, page, pages }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: several files may have the same name.
        <Hint key={index} size="xs" className="breakable">
          {fill(kb.pageProgress, { document, page: format.number(page), pages: format.number(pages) })}
        </Hint>
      ))}
    </div>
  );
}

function JobErrors({ kbId, job }: { kbId: string; job: Job }) {
  const kb = useKnowledgeBaseMessages();
  const format = useFormat();
  const [isOpen, setOpen] = useState(false);
  return (
    <Stack gap={4} style={{ minWidth: 160 }}>
      <ErrorText>{job.error?.message}</ErrorText>
      {job.documents_pending_deletion > 0 && (
        <Hint>{fill(kb.pendingDeletion, { count: format.number(job.documents_pending_deletion) })}</Hint>
      )}
      {job.documents_failed > 0 && (
        <Anchor
          component="button"
          type="button"
          c="red"
          w="fit-content"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        >
          {fill(kb.failedDocuments, { count: format.number(job.documents_failed) })}
        </Anchor>
      )}
      {isOpen && <FailedDocuments kbId={kbId} job={job} />}
    </Stack>
  );
}

/** The first failed documents of a job, each with its error. */
function FailedDocuments({ kbId, job }: { kbId: string; job: Job }) {
  const query = useQuery({
    queryKey: ['job', kbId, job.id, job.documents_failed],
    queryFn: () => {
      const params = { path: { kb_id: kbId, job_id: job.id }, query: { details_status: 'failed' as const } };
      return body(api.GET('/v1/knowledge-bases/{kb_id}/ingestion-jobs/{job_id}', { params }));
    },
  });
  return (
    <QueryData query={query}>
      {({ document_details: details }) => (
        <List size="sm" mah={260} style={{ overflowY: 'auto' }} tabIndex={0}>
          {details.map(({ document_id: id, document_name: name, error }) => (
            <List.Item key={id} className="breakable">
              <PageLink to="/knowledge-bases/$kbId/documents/$documentId" params={{ kbId, documentId: id }} size="sm">
                {name}
              </PageLink>
              <ErrorText>{error?.message}</ErrorText>
            </List.Item>
          ))}
        </List>
      )}
    </QueryData>
  );
}

function CancelJob({ kbId, job }: { kbId: string; job: Job }) {
  const kb = useKnowledgeBaseMessages();
  if (isFinished(job)) return null;
  const params = { path: { kb_id: kbId, job_id: job.id } };
  return (
    <ConfirmButton
      label={kb.cancelJob}
      title={kb.cancelJob}
      text={kb.cancelJobText}
      action={() => api.POST('/v1/knowledge-bases/{kb_id}/ingestion-jobs/{job_id}/cancel', { params })}
      refreshes={['jobs']}
    />
  );
}
