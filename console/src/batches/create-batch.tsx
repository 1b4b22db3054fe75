import { Button, Code, Group, Progress, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { api, body } from '../api/client.ts';
import { useModels } from '../api/use-models.ts';
import { uploadFile } from '../files/upload.ts';
import { Modal } from '../ui/dialogs.tsx';
import { DropZone } from '../ui/drop-zone.tsx';
import { fill } from '../ui/language.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { ErrorState, MutationError } from '../ui/states.tsx';
import { useSendOnce } from '../ui/validated-form.tsx';
import { type BatchCheck, checkBatchFile } from './check-batch-file.ts';
import { BatchCheckReport } from './check-report.tsx';
import { useBatchMessages } from './messages.ts';

const EXAMPLE =
  '{"custom_id": "1", "method": "POST", "url": "/v1/chat/completions", "body": {"model": "general-8b", "messages": [{"role": "user", "content": "Hello"}]}}';

interface BatchCreateDialogProps {
  /** The file to begin with; null: the user chooses one. */
  file: File | null;
  onClose(): void;
  /** Called with the id of the new batch. */
  onCreated(id: string): void;
}

/** Creates a batch in three steps: choose a file, check its lines, upload it. */
export function BatchCreateDialog({ file: initial, onClose, onCreated }: BatchCreateDialogProps) {
  const batches = useBatchMessages();
  const [file, setFile] = useState(initial);
  return (
    <Modal opened onClose={onClose} title={batches.create} size="lg">
      {file === null ? (
        <Stack>
          <DropZone hint={batches.drop} choose={batches.choose} onFiles={([chosen]) => setFile(chosen?.file ?? null)} />
          <Text size="sm">{batches.example}</Text>
          <Code block style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
            {EXAMPLE}
          </Code>
        </Stack>
      ) : (
        <CheckedFile file={file} onReset={() => setFile(null)} onClose={onClose} onCreated={onCreated} />
      )}
    </Modal>
  );
}

interface CheckedFileProps extends Omit<BatchCreateDialogProps, 'file'> {
  file: File;
  onReset(): void;
}

function CheckedFile({ file, onReset, onClose, onCreated }: CheckedFileProps) {
  const batches = useBatchMessages();
  const common = useCommonMessages();
  const { check, error, share } = useBatchCheck(file);
  const modelIds = useModels().data?.data.map(({ id }) => id) ?? null;
  const { create, uploadShare } = useCreateBatch(file, check, onCreated);
  const send = useSendOnce(create);
  if (error !== null) return <ErrorState error={error} onRetry={onReset} />;
  if (check === null) return <LabelledProgress label={fill(batches.checking, { name: file.name })} share={share} />;
  const isKnown = modelIds === null || [...check.models.keys()].every((model) => modelIds.includes(model));
  const isValid = check.requests > 0 && check.defects.length === 0 && isKnown;
  return (
    <Stack>
      <BatchCheckReport file={file} check={check} knownModels={modelIds} />
      {create.isPending && (
        <LabelledProgress label={fill(batches.uploading, { name: file.name })} share={uploadShare} />
      )}
      <MutationError mutation={create} />
      <Group justify="space-between">
        <Button variant="subtle" onClick={onReset} disabled={create.isPending}>
          {batches.otherFile}
        </Button>
        <Group>
          <Button variant="default" onClick={onClose}>
            {common.cancel}
          </Button>
          <Button onClick={send} loading={create.isPending} disabled={!isValid} data-autofocus>
            {common.create}
          </Button>
        </Group>
      </Group>
    </Stack>
  );
}

/** Checks a file while the component is shown. `share`: the checked part of it, from 0 to 1. */
function useBatchCheck(file: File) {
  const [check, setCheck] = useState<BatchCheck | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [share, setShare] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    const { signal } = stop;
    checkBatchFile(file, { onProgress: setShare, signal }).then(setCheck, (reason: unknown) => {
      if (!signal.aborted) setError(reason);
    });
    return () => stop.abort();
  }, [file]);
  return { check, error, share };
}

/** Uploads the file and creates the batch. `uploadShare`: the uploaded part, from 0 to 1. */
function useCreateBatch(file: File, check: BatchCheck | null, onCreated: (id: string) => void) {
  const [uploadShare, setUploadShare] = useState(0);
  // After a failure, the next attempt uses the uploaded file.
  const fileId = useRef<string | null>(null);
  const create = useMutation({
    mutationFn: async () => {
      if (check?.endpoint == null) throw new Error('the file has no valid line');
      fileId.current ??= (await uploadFile(file, 'batch', { onProgress: setUploadShare })).id;
      const request = { input_file_id: fileId.current, endpoint: check.endpoint, completion_window: '24h' as const };
      return body(api.POST('/v1/batches', { body: request }));
    },
    onSuccess: ({ id }) => onCreated(id),
  });
  return { create, uploadShare };
}

function LabelledProgress({ label, share }: { label: string; share: number }) {
  return (
    <div>
      <Text size="sm" mb={4}>
        {label}
      </Text>
      <Progress value={share * 100} aria-label={label} />
    </div>
  );
}
