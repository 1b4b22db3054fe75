import { type QueryClient, useQueryClient } from '@tanstack/react-query';
import { useEffect, useMemo, useReducer, useRef, useState } from 'react';
import { api, body } from '../api/client.ts';
import { readAgain } from '../api/refresh.ts';
import { checkUpload, type UploadDefect, type UploadLimits } from '../files/check-upload.ts';
import { uploadFile } from '../files/upload.ts';
import { uploadLimits } from '../files/upload-limits.ts';
import type { ChosenFile } from '../ui/chosen-files.ts';
import { describe } from '../ui/states.tsx';

/** Concurrent uploads; browsers open six connections to a host. */
const CONCURRENT_UPLOADS = 3;

/** A file on its way into the knowledge base. */
export interface FileUpload extends ChosenFile {
  id: number;
  /** Share of the upload, from 0 to 1. */
  share: number;
  /** `uploaded`: waits for the other files of its data source. `added`: its data source exists. */
  state: 'waiting' | 'uploading' | 'uploaded' | 'added' | 'failed' | 'rejected' | 'cancelled';
  /** Message of the state `failed`. */
  error: string | null;
  /** Reason of the state `rejected`. */
  defect: UploadDefect | null;
  /** The uploaded file and its data source; null before. */
  fileId: string | null;
  sourceId: string | null;
  /** Job that processes the file again; null without one. */
  retryJobId: string | null;
  controller: AbortController;
}

type Change = (id: number, changes: Partial<FileUpload>) => void;
type Action = { add: FileUpload[] } | { id: number; changes: Partial<FileUpload> } | 'clear';

function reduce(uploads: readonly FileUpload[], action: Action): FileUpload[] {
  if (action === 'clear') return [];
  if ('add' in action) return [...action.add, ...uploads];
  return uploads.map((upload) => (upload.id === action.id ? { ...upload, ...action.changes } : upload));
}

/** Uploads of a knowledge base. */
export interface Uploads {
  /** Newest first. */
  files: readonly FileUpload[];
  /** Whether files still wait or are sent. */
  isBusy: boolean;
  /** Error of the last data source that could not be created; null without one. */
  failure: unknown;
  /** Stay the same, so that a row is only drawn again when its file changes. */
  actions: UploadActions;
}

/** Actions of the list of uploads. */
export interface UploadActions {
  add(chosen: readonly ChosenFile[]): Promise<void>;
  retry(upload: FileUpload): void;
  cancel(upload: FileUpload): void;
  /** Sets the job that processes a file again. */
  follow(id: number, retryJobId: string): void;
  /** Empties the list. */
  clear(): void;
}

/** Uploads files and adds them to the knowledge base, one data source for all files that are added together. */
export function useUploads(kbId: string): Uploads {
  const queryClient = useQueryClient();
  const [files, dispatch] = useReducer(reduce, []);
  const [failure, setFailure] = useState<unknown>(null);
  const nextId = useRef(0);
  const isBusy = files.some(({ state }) => state === 'waiting' || state === 'uploading' || state === 'uploaded');
  useLeaveWarning(isBusy);
  const actions = useMemo((): UploadActions => {
    const change: Change = (id, changes) => dispatch({ id, changes });
    const start = async (started: readonly FileUpload[]) => {
      setFailure(null);
      const uploaded = await uploadAll(started, change);
      if (uploaded.length > 0) await addSource({ queryClient, kbId, uploaded, change }).catch(setFailure);
    };
    return {
      add: async (chosen) => {
        // Without the limits, the service rejects the files.
        const limits = await queryClient.ensureQueryData(uploadLimits).catch(() => null);
        const added = chosen.map((each) => {
          nextId.current += 1;
          return newUpload(nextId.current, each, limits);
        });
        dispatch({ add: added });
        await start(added.filter(({ state }) => state === 'waiting'));
      },
      retry: ({ id, ...upload }) => {
        const changes = { state: 'waiting', share: 0, error: null, controller: new AbortController() } as const;
        change(id, changes);
        void start([{ id, ...upload, ...changes }]);
      },
      cancel: ({ id, controller }) => {
        controller.abort();
        change(id, { state: 'cancelled', share: 0 });
      },
      follow: (id, retryJobId) => change(id, { retryJobId }),
      clear: () => dispatch('clear'),
    };
  }, [queryClient, kbId]);
  return { files, isBusy, failure, actions };
}

/** Makes the browser ask before it leaves the page. */
function useLeaveWarning(isActive: boolean): void {
  useEffect(() => {
    if (!isActive) return;
    const warn = (event: BeforeUnloadEvent) => event.preventDefault();
    globalThis.addEventListener('beforeunload', warn);
    return () => globalThis.removeEventListener('beforeunload', warn);
  }, [isActive]);
}

function newUpload(id: number, { file, path }: ChosenFile, limits: UploadLimits | null): FileUpload {
  const defect = limits === null ? null : checkUpload({ name: path, size: file.size }, 'knowledge-base', limits);
  const state = defect === null ? 'waiting' : 'rejected';
  const controller = new AbortController();
  const unknown = { error: null, fileId: null, sourceId: null, retryJobId: null };
  return { id, file, path, share: 0, state, defect, controller, ...unknown };
}

/** Uploads files, some at a time. Returns those that were uploaded; the others are marked. */
async function uploadAll(files: readonly FileUpload[], change: Change): Promise<UploadedFile[]> {
  const pending = [...files];
  const uploaded: UploadedFile[] = [];
  const work = async () => {
    for (let next = pending.shift(); next !== undefined; next = pending.shift()) {
      const done = await uploadOne(next, change);
      if (done !== null) uploaded.push(done);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENT_UPLOADS }, work));
  return uploaded;
}

interface UploadedFile {
  id: number;
  fileId: string;
}

async function uploadOne({ id, file, path, controller }: FileUpload, change: Change): Promise<UploadedFile | null> {
  const { signal } = controller;
  if (signal.aborted) return null;
  change(id, { state: 'uploading' });
  try {
    const onProgress = (share: number) => change(id, { share });
    const { id: fileId } = await uploadFile(file, 'knowledge-base', { name: path, onProgress, signal });
    change(id, { state: 'uploaded', share: 1, fileId });
    return { id, fileId };
  } catch (error) {
    if (!signal.aborted) change(id, { state: 'failed', error: describe(error) });
    return null;
  }
}

interface NewSource {
  queryClient: QueryClient;
  kbId: string;
  uploaded: readonly UploadedFile[];
  change: Change;
}

/** Adds uploaded files as one data source. On errors, every file is marked as failed. */
async function addSource({ queryClient, kbId, uploaded, change }: NewSource): Promise<void> {
  const changeAll = (changes: Partial<FileUpload>) => {
    for (const { id } of uploaded) change(id, changes);
  };
  try {
    const { id: sourceId } = await body(
      api.POST('/v1/knowledge-bases/{kb_id}/data-sources', {
        params: { path: { kb_id: kbId } },
        body: { type: 'file_upload', config: { file_ids: uploaded.map(({ fileId }) => fileId) } },
      }),
    );
    changeAll({ state: 'added', sourceId });
  } catch (error) {
    changeAll({ state: 'failed', error: describe(error) });
    throw error;
  }
  for (const name of ['documents', 'data-sources', 'jobs']) {
    await readAgain(queryClient, [name, kbId]);
  }
}
