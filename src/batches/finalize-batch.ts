import type { Deps } from '../deps.ts';
import { addSeconds } from '../files/expiry.ts';
import { deleteOrphanedBlob } from '../files/orphaned-blobs.ts';
import { deleteFileUses } from '../files/store.ts';
import { commitFile, type StoredContent, storeContent } from '../files/store-content.ts';
import { newId } from '../lib/ids.ts';
import { deleteLines, type ResultSize, type StoredResult, selectResultSizes, selectResults } from './line-store.ts';
import { batchMetrics } from './metrics.ts';
import { recordLeftUsage } from './result-writer.ts';
import { type BatchRow, lockBatch, updateBatch } from './store.ts';

/** Dependencies of finalization. */
export type FinalizeDeps = Pick<Deps, 'db' | 'blobs' | 'logger' | 'metrics' | 'recordUsage' | 'now'>;

type ResultStatus = 'completed' | 'failed';

/** Sizes of one read, and bytes of results in memory; one larger result is read alone. */
const SIZES_PER_READ = 1_000;
const MAX_READ_BYTES = 4 * 1024 * 1024;

/**
 * Writes the output and the error file of a batch whose lines all have results, and ends it: files, status and the
 * release of the input file are one transaction. Starts again after a crash.
 */
export async function finalizeBatch(deps: FinalizeDeps, batch: BatchRow, signal: AbortSignal): Promise<void> {
  await recordLeftUsage(deps, batch.id);
  const contents: StoredContent[] = [];
  const write = async (status: ResultStatus, count: number, suffix: string) => {
    if (count === 0) return null;
    const filename = `${batch.id}_${suffix}.jsonl`;
    const content = await storeContent(deps, resultLines(deps, batch, status), signal);
    contents.push(content);
    return { ...content, filename };
  };
  try {
    const current = await requireEndedLines(deps, batch);
    const output = await write('completed', current.completedLines, 'output');
    const errors = await write('failed', current.failedLines, 'error');
    await commit(deps, batch, { output, errors });
  } catch (error) {
    for (const { blobKey } of contents) await deleteOrphanedBlob(deps, blobKey);
    throw error;
  }
}

/** Every line has its result: otherwise the files would lack some. */
async function requireEndedLines({ db }: FinalizeDeps, { id, organizationId }: BatchRow): Promise<BatchRow> {
  const batch = await db.sql.transaction((sql) => lockBatch(sql, organizationId, id));
  if (batch === null || batch.completedLines + batch.failedLines !== batch.totalLines) {
    throw new Error(`lines of ${id} have no result`);
  }
  return batch;
}

type NewFile = (StoredContent & { filename: string }) | null;

async function commit(
  { db, metrics, now }: FinalizeDeps,
  batch: BatchRow,
  { output, errors }: { output: NewFile; errors: NewFile },
): Promise<void> {
  const at = new Date(now());
  const end = endState(batch, at);
  await db.sql.transaction(async (sql) => {
    const create = async (content: NewFile) => {
      if (content === null) return null;
      const id = newId('file');
      const { organizationId, caller, outputExpirySeconds } = batch;
      const times = { createdAt: at, expiresAt: addSeconds(at, outputExpirySeconds) };
      const state = { purpose: 'batch', status: 'processed', statusDetails: null, ...times } as const;
      await commitFile(sql, { id, organizationId, createdBy: caller.keyId, privateTo: null, ...content, ...state });
      return id;
    };
    const files = { outputFileId: await create(output), errorFileId: await create(errors) };
    const ended = await updateBatch(sql, batch, { ...files, ...end });
    if (ended === null) throw new Error(`${batch.id} was ended by another process`);
    await deleteFileUses(sql, batch.id);
    await deleteLines(sql, batch.id);
  });
  batchMetrics(metrics).ended(end.status);
}

function endState({ status, expiredAt }: BatchRow, at: Date): Partial<BatchRow> & Pick<BatchRow, 'status'> {
  if (status === 'cancelling') return { status: 'cancelled', cancelledAt: at };
  if (expiredAt !== null) return { status: 'expired' };
  return { status: 'completed', completedAt: at };
}

/** The results of one file in the order of the input file, as JSON Lines. */
async function* resultLines(
  { db }: FinalizeDeps,
  { id: batchId }: BatchRow,
  status: ResultStatus,
): AsyncGenerator<Uint8Array> {
  for (let after = 0; ; ) {
    const sizes = await selectResultSizes(db.sql, { batchId, status }, after, SIZES_PER_READ);
    const last = sizes.at(-1);
    if (last === undefined) return;
    for (const lines of groupBySize(sizes)) {
      const results = await selectResults(db.sql, batchId, lines);
      yield Buffer.from(results.map(formatResult).join(''));
    }
    after = last.line;
  }
}

function groupBySize(sizes: readonly ResultSize[]): number[][] {
  const groups: number[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const size of sizes) {
    if (bytes + size.bytes > MAX_READ_BYTES) {
      groups.push([]);
      bytes = 0;
    }
    groups.at(-1)?.push(size.line);
    bytes += size.bytes;
  }
  return groups;
}

/** One line of an output or error file. Bodies and errors are stored as JSON. */
function formatResult({ id, customId, statusCode, requestId, body, error }: StoredResult): string {
  const response =
    body === null ? 'null' : `{"status_code":${statusCode},"request_id":${JSON.stringify(requestId)},"body":${body}}`;
  return `{"id":"${id}","custom_id":${JSON.stringify(customId)},"response":${response},"error":${error}}\n`;
}
