import { Button, Group, Paper, Progress, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { memo, useMemo } from 'react';
import { uploadLimits } from '../files/upload-limits.ts';
import { useUploadTexts } from '../files/upload-texts.ts';
import { RowButton } from '../ui/confirm.tsx';
import { DropZone } from '../ui/drop-zone.tsx';
import { useFormat } from '../ui/format.ts';
import { useCommonMessages } from '../ui/messages.ts';
import { describe, ErrorState } from '../ui/states.tsx';
import { StatusBadge } from '../ui/status-badge.tsx';
import { ErrorText, Hint } from '../ui/text.tsx';
import type { Job, LiveJobs } from './job-events.ts';
import { useKnowledgeBaseMessages } from './messages.ts';
import type { FileUpload, UploadActions, Uploads } from './uploads.ts';
import { useFileProcessing } from './use-file-processing.ts';

interface UploadDocumentsProps {
  kbId: string;
  uploads: Uploads;
  live: LiveJobs;
}

/** Takes files and folders, and shows the state of each until its documents are ready. */
export function UploadDocuments({ kbId, uploads, live }: UploadDocumentsProps) {
  const kb = useKnowledgeBaseMessages();
  const common = useCommonMessages();
  const texts = useUploadTexts();
  const { data: limits } = useQuery(uploadLimits);
  const { files, failure, isBusy, actions } = uploads;
  const newestJobs = useMemo(() => findNewestJobs(live), [live]);
  const findJob = ({ retryJobId, sourceId }: FileUpload) =>
    (retryJobId === null ? newestJobs.get(sourceId ?? '') : live.jobs.get(retryJobId)) ?? null;
  return (
    <Stack mb="md">
      <DropZone
        hint={kb.uploadHint}
        details={limits && texts.limits(limits, 'knowledge-base')}
        choose={common.choose}
        chooseFolder={kb.chooseFolder}
        accept={limits?.extensions['knowledge-base']}
        onFiles={(chosen) => void actions.add(chosen)}
      />
      {failure !== null && <ErrorState error={failure} />}
      {files.length > 0 && (
        <Paper
          withBorder
          px="md"
          py="xs"
          mah={420}
          style={{ overflowY: 'auto' }}
          component="section"
          tabIndex={0}
          aria-label={kb.uploads}
        >
          <div aria-live="polite">
            {files.map((upload) => (
              <UploadRow key={upload.id} kbId={kbId} upload={upload} job={findJob(upload)} actions={actions} />
            ))}
          </div>
        </Paper>
      )}
      {files.length > 0 && !isBusy && (
        <Button variant="subtle" size="compact-sm" w="fit-content" onClick={actions.clear}>
          {kb.clearUploads}
        </Button>
      )}
    </Stack>
  );
}

/** The newest job of each data source: ids are in the order of creation. */
function findNewestJobs({ jobs }: LiveJobs): ReadonlyMap<string, Job> {
  const sorted = [...jobs.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  return new Map(sorted.map((job) => [job.data_source_id, job]));
}

interface UploadRowProps {
  kbId: string;
  upload: FileUpload;
  /** The job that processes the file; null until it is known. */
  job: Job | null;
  actions: UploadActions;
}

const UploadRow = memo(function UploadRow({ kbId, upload, job, actions }: UploadRowProps) {
  const kb = useKnowledgeBaseMessages();
  const common = useCommonMessages();
  const format = useFormat();
  const { path, file, share, defect } = upload;
  const texts = useUploadTexts();
  const { processing, retry } = useFileProcessing(upload, { kbId, job, follow: actions.follow });
  // The job of an added file comes with the next event.
  const state = processing?.state ?? (upload.state === 'added' ? 'queued' : upload.state);
  const error = processing?.state === 'failed' ? (processing.error ?? kb.noDocument) : upload.error;
  const isCancellable = state === 'waiting' || state === 'uploading';
  const onRetry = () => {
    if (processing?.state === 'failed') retry.mutate(processing.documentId);
    else actions.retry(upload);
  };
  return (
    <Stack gap={4} py="xs" role="group" aria-label={path}>
      <Group justify="space-between" gap="sm">
        <Text size="sm" style={{ flex: '1 1 220px', overflowWrap: 'anywhere' }}>
          {path}{' '}
          <Text span size="xs" c="dimmed">
            {format.bytes(file.size)}
          </Text>
        </Text>
        <Group gap="sm">
          {processing?.state === 'ready' && (
            <Hint>
              {kb.chunks}: {format.number(processing.chunks)}
            </Hint>
          )}
          <StatusBadge status={state} />
          {isCancellable && <RowButton label={common.cancel} name={path} onClick={() => actions.cancel(upload)} />}
          {(state === 'failed' || state === 'cancelled') && (
            <RowButton label={kb.retry} name={path} loading={retry.isPending} onClick={onRetry} />
          )}
        </Group>
      </Group>
      {state === 'uploading' && <Progress aria-label={path} value={share * 100} />}
      <ErrorText>{state === 'failed' && error}</ErrorText>
      <ErrorText>{defect !== null && texts.defect(defect)}</ErrorText>
      <ErrorText>{retry.isError && describe(retry.error)}</ErrorText>
    </Stack>
  );
});
