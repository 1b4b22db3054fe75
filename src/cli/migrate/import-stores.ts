import { forEachConcurrent } from '../../lib/for-each-concurrent.ts';
import type { ApiClient } from '../api-client.ts';
import { HttpStatusError } from '../client-errors.ts';
import type { StatusLine } from '../status-line.ts';
import type { OpenAiAccount, RemoteFile, RemoteStore } from './openai-account.ts';

/** Metadata of an imported knowledge base with the id of its store in the account. */
const ORIGIN = 'openai_vector_store_id';
/** Files of one store that are read and written at once. */
const CONCURRENT_FILES = 4;
/** Text above this size is uploaded as a file; the API takes 4 MiB as a document. */
const MAX_TEXT_BYTES = 4_000_000;
/** OpenAI's API does not return files of these purposes, only their parsed text. */
const NOT_DOWNLOADABLE: ReadonlySet<string> = new Set(['assistants', 'user_data']);

/** Result of the import of a store. */
export interface ImportedStore {
  /** Id in the account. */
  from: string;
  /** Id here; null for a store that was not imported. */
  id: string | null;
  name: string;
  /** Why the store was not imported. */
  skipped: string | null;
  /** Files imported as they are. */
  originals: number;
  /** Files that were imported as parsed text only. */
  texts: number;
  /** Files that an earlier run imported. */
  present: number;
  failed: { file: string; message: string }[];
}

interface Import {
  account: OpenAiAccount;
  api: ApiClient;
  signal: AbortSignal;
}

/**
 * Imports stores of an account with their files. May be repeated: files that are here are not read again. `ids`: the
 * stores to import; empty for all.
 */
export async function importStores(
  context: Import,
  ids: readonly string[],
  line: StatusLine,
): Promise<ImportedStore[]> {
  const { account, api } = context;
  const stores = await Array.fromAsync(
    ids.length === 0
      ? account.list<RemoteStore>('/vector_stores')
      : ids.map((id) => account.json<RemoteStore>(`/vector_stores/${encodeURIComponent(id)}`)),
  );
  const imported = new Map<string, string>();
  for await (const { id, metadata } of api.list<{ id: string; metadata: Record<string, string> }>(
    '/v1/vector_stores',
  )) {
    if (metadata[ORIGIN] !== undefined) imported.set(metadata[ORIGIN], id);
  }
  const total = stores.reduce((sum, { file_counts }) => sum + file_counts.total, 0);
  let done = 0;
  const results: ImportedStore[] = [];
  for (const store of stores) {
    const result: ImportedStore = {
      from: store.id,
      id: null,
      name: store.name || store.id,
      skipped: store.status === 'expired' ? 'it has expired, and OpenAI has deleted its files' : null,
      originals: 0,
      texts: 0,
      present: 0,
      failed: [],
    };
    results.push(result);
    if (result.skipped !== null) continue;
    result.id = imported.get(store.id) ?? (await createBase(api, store, result.name));
    await importFiles(context, result, () => {
      done += 1;
      line.show('importing', { done, total: Math.max(total, done) });
    });
  }
  return results;
}

/** Creates the knowledge base of a store. Its native route takes more metadata than OpenAI's 16 pairs. */
async function createBase(api: ApiClient, store: RemoteStore, name: string): Promise<string> {
  const body = {
    name: name.slice(0, 256),
    description: store.description ?? '',
    metadata: { ...store.metadata, [ORIGIN]: store.id },
  };
  const { id } = await api.json<{ id: string }>('POST', '/v1/knowledge-bases', body, { idempotencyKey: store.id });
  const days = store.expires_after?.days;
  const expires_after = days === undefined ? null : { anchor: 'last_active_at', days };
  const { id: storeId } = await api.json<{ id: string }>('POST', `/v1/vector_stores/${id}`, { expires_after });
  return storeId;
}

async function importFiles(context: Import, result: ImportedStore, onDone: () => void): Promise<void> {
  const { account, api, signal } = context;
  const present = new Set<string>();
  for await (const { id, status } of api.list<RemoteFile>(`/v1/vector_stores/${result.id}/files`)) {
    if (status === 'completed' || status === 'in_progress') present.add(id);
  }
  const files = await Array.fromAsync(account.list<RemoteFile>(`/vector_stores/${result.from}/files`));
  await forEachConcurrent(
    files,
    CONCURRENT_FILES,
    async (file) => {
      try {
        if (present.has(file.id)) result.present += 1;
        else result[await importFile(context, result, file)] += 1;
      } catch (error) {
        // An error of one file; others, such as a lost connection, end the command, which may be repeated.
        if (!(error instanceof HttpStatusError) || ![400, 404, 413].includes(error.status)) throw error;
        result.failed.push({ file: file.id, message: error.detail });
      }
      onDone();
    },
    signal,
  );
  signal.throwIfAborted();
}

/** Imports a file as it is if the account returns it and Quire reads the format, otherwise its parsed text. */
async function importFile(
  { account, api, signal }: Import,
  { from, id }: ImportedStore,
  file: RemoteFile,
): Promise<'originals' | 'texts'> {
  if (file.status !== 'completed') throw new HttpStatusError(400, `The account has it as '${file.status}'.`);
  const remote = await readFileObject(account, file.id);
  const title = (remote?.filename ?? file.id).slice(0, 256);
  const post = (content: object) => {
    const document = { key: file.id, title, metadata: file.attributes ?? {}, ...content };
    const path = `/v1/knowledge-bases/${id?.replace('vs_', 'kb_')}/documents`;
    return api.json('POST', path, document, { signal });
  };
  const upload = (content: Blob, name: string) => uploadTo(api, content, { name, key: file.id, signal });
  if (remote !== null && !NOT_DOWNLOADABLE.has(remote.purpose)) {
    try {
      const content = await (await account.get(`/files/${file.id}/content`)).blob();
      await post({ file_id: await upload(content, remote.filename) });
      return 'originals';
    } catch (error) {
      // 400 and 403: the account does not return the file, or Quire does not read its format.
      if (!(error instanceof HttpStatusError) || ![400, 403, 404].includes(error.status)) throw error;
    }
  }
  const text = await readText(account, `/vector_stores/${from}/files/${file.id}/content`);
  const isLong = Buffer.byteLength(text) > MAX_TEXT_BYTES;
  await post(isLong ? { file_id: await upload(new Blob([text]), `${title}.txt`) } : { text });
  return 'texts';
}

/** The object of a file; null when the account has deleted it, but not from the store. */
async function readFileObject(account: OpenAiAccount, id: string) {
  try {
    return await account.json<{ filename: string; purpose: string }>(`/files/${id}`);
  } catch (error) {
    if (error instanceof HttpStatusError && error.status === 404) return null;
    throw error;
  }
}

/** Reads the parsed text of a file, all pages. */
async function readText(account: OpenAiAccount, path: string): Promise<string> {
  const parts: string[] = [];
  for (let page: string | null = ''; page !== null; ) {
    const query: string = page === '' ? '' : `?page=${encodeURIComponent(page)}`;
    const content: { data: { text?: string }[]; has_more?: boolean; next_page?: string | null } = await account.json(
      path + query,
    );
    parts.push(...content.data.map(({ text }) => text ?? ''));
    page = content.has_more ? (content.next_page ?? null) : null;
  }
  return parts.join('\n\n');
}

/** Uploads a file; an upload that an interrupted run has finished is not repeated for a day. */
async function uploadTo(
  api: ApiClient,
  content: Blob,
  { name, key, signal }: { name: string; key: string; signal: AbortSignal },
): Promise<string> {
  const form = new FormData();
  form.append('purpose', 'knowledge-base');
  form.append('file', content, name);
  const { id } = await api.json<{ id: string }>('POST', '/v1/files', form, {
    idempotencyKey: `${key}/${name}`,
    signal,
  });
  return id;
}
