import { Button, Group, Progress, Stack, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useReducer, useRef } from 'react';
import { api, body } from '../api/client.ts';
import { uploadFile } from '../api/upload.ts';
import { DropZone } from '../components/drop-zone.tsx';
import { describe, ErrorState } from '../components/states.tsx';
import { useMessages } from '../messages/index.tsx';

/** Concurrent uploads; browsers open six connections to a host. */
const CONCURRENT_UPLOADS = 3;

/** State of one file: uploading with a share from 0 to 1, uploaded, or failed. */
interface FileUpload {
  id: number;
  file: File;
  share: number;
  state: 'waiting' | 'uploading' | 'added' | 'failed' | 'cancelled';
  error: string | null;
  controller: AbortController;
}

type Change = Partial<FileUpload> & { id: number };

function reduce(uploads: readonly FileUpload[], action: { add: FileUpload[] } | { change: Change }): FileUpload[] {
  if ('add' in action) return [...uploads, ...action.add];
  return uploads.map((upload) => (upload.id === action.change.id ? { ...upload, ...action.change } : upload));
}

/** Uploads files and adds them to the knowledge base as one data source, with progress per file and retry. */
export function UploadDocuments({ kbId }: { kbId: string }) {
  const { kb } = useMessages();
  const queryClient = useQueryClient();
  const [uploads, dispatch] = useReducer(reduce, []);
  const [failure, setFailure] = useReducer((_: unknown, error: unknown) => error, null);
  const nextId = useRef(0);
  const isBusy = uploads.some(({ state }) => state === 'waiting' || state === 'uploading');
  useEffect(() => {
    if (!isBusy) return;
    // The browser asks before it leaves the page.
    const warn = (event: BeforeUnloadEvent) => event.preventDefault();
    globalThis.addEventListener('beforeunload', warn);
    return () => globalThis.removeEventListener('beforeunload', warn);
  }, [isBusy]);

  const upload = async ({ id, file, controller }: FileUpload): Promise<{ id: number; fileId: string } | null> => {
    const { signal } = controller;
    if (signal.aborted) return null;
    dispatch({ change: { id, state: 'uploading', share: 0, error: null } });
    try {
      const onProgress = (share: number) => dispatch({ change: { id, share } });
      const uploaded = await uploadFile(file, 'knowledge-base', { onProgress, signal });
      return { id, fileId: uploaded.id };
    } catch (error) {
      if (!signal.aborted) dispatch({ change: { id, state: 'failed', error: describe(error) } });
      return null;
    }
  };

  const add = async (files: readonly FileUpload[]) => {
    setFailure(null);
    const pending = [...files];
    const uploaded: { id: number; fileId: string }[] = [];
    const work = async () => {
      for (let next = pending.shift(); next !== undefined; next = pending.shift()) {
        const done = await upload(next);
        if (done !== null) uploaded.push(done);
      }
    };
    await Promise.all(Array.from({ length: CONCURRENT_UPLOADS }, work));
    if (uploaded.length === 0) return;
    try {
      await body(
        api.POST('/v1/knowledge-bases/{kb_id}/data-sources', {
          params: { path: { kb_id: kbId } },
          body: { type: 'file_upload', config: { file_ids: uploaded.map(({ fileId }) => fileId) } },
        }),
      );
      for (const { id } of uploaded) dispatch({ change: { id, state: 'added', share: 1 } });
    } catch (error) {
      for (const { id } of uploaded) dispatch({ change: { id, state: 'failed', error: describe(error) } });
      setFailure(error);
    }
    for (const name of ['documents', 'data-sources', 'jobs']) {
      await queryClient.invalidateQueries({ queryKey: [name, kbId] });
    }
  };

  const onFiles = (files: readonly File[]) => {
    const added = files.map((file): FileUpload => {
      nextId.current += 1;
      const controller = new AbortController();
      return { id: nextId.current, file, share: 0, state: 'waiting', error: null, controller };
    });
    dispatch({ add: added });
    void add(added);
  };

  return (
    <Stack mb="md">
      <DropZone hint={kb.uploadHint} choose={kb.choose} onFiles={onFiles} />
      {failure !== null && <ErrorState error={failure} />}
      <div aria-live="polite">
        {uploads.map((each) => (
          <UploadRow
            key={each.id}
            upload={each}
            onRetry={() => {
              const retried = { ...each, controller: new AbortController() };
              dispatch({ change: retried });
              void add([retried]);
            }}
            onCancel={() => {
              each.controller.abort();
              dispatch({ change: { id: each.id, state: 'cancelled', share: 0 } });
            }}
          />
        ))}
      </div>
    </Stack>
  );
}

function UploadRow({ upload, onRetry, onCancel }: { upload: FileUpload; onRetry(): void; onCancel(): void }) {
  const { kb, common } = useMessages();
  const { file, share, state, error } = upload;
  const label = {
    waiting: '',
    uploading: kb.uploading,
    added: kb.done,
    failed: error ?? kb.failed,
    cancelled: kb.cancelled,
  }[state];
  // A file that is uploaded waits for the others: its request has ended.
  const isCancellable = state === 'waiting' || (state === 'uploading' && share < 1);
  return (
    <Group wrap="nowrap" gap="sm" py={4}>
      <Text size="sm" w="35%" truncate>
        {file.name}
      </Text>
      <Progress
        aria-label={file.name}
        value={share * 100}
        color={state === 'failed' ? 'red' : state === 'added' ? 'teal' : 'blue'}
        style={{ flex: 1 }}
      />
      <Text size="sm" w="30%" c={state === 'failed' ? 'red' : 'dimmed'}>
        {label}
      </Text>
      {isCancellable && (
        <Button size="compact-sm" variant="default" onClick={onCancel} aria-label={`${common.cancel}: ${file.name}`}>
          {common.cancel}
        </Button>
      )}
      {(state === 'failed' || state === 'cancelled') && (
        <Button size="compact-sm" variant="default" onClick={onRetry}>
          {kb.retry}
        </Button>
      )}
    </Group>
  );
}
