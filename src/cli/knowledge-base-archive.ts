import { openAsBlob } from 'node:fs';
import { open, rename, rm, stat } from 'node:fs/promises';
import { readArchive } from '../knowledge-bases/archive/read-archive.ts';
import type { ImportedKnowledgeBase } from '../knowledge-bases/archive/schema.ts';
import type { IngestionJob } from '../knowledge-bases/jobs/schema.ts';
import type { KnowledgeBase } from '../knowledge-bases/schema.ts';
import { describeError, OperatorError } from '../lib/operator-error.ts';
import { pause } from '../lib/retry.ts';
import { openApiClient } from './api-client.ts';
import { CliCommand } from './command.ts';
import { requireKnowledgeBase } from './knowledge-base.ts';
import { formatCount, formatMegabytes, printResult } from './output.ts';
import { ProgressLine } from './progress-line.ts';
import { StatusLine } from './status-line.ts';

const PATH = '/v1/knowledge-bases';
/** Interval at which the jobs of an import are read. */
const POLL_MS = 500;

/** `quire kb export`. */
export function exportCommand(): CliCommand {
  return new CliCommand('export')
    .summary('Write a knowledge base to one file')
    .description(
      'Write a knowledge base with its files, documents, chunks and vectors to one archive (tar), without credentials. The file appears when it is complete.',
    )
    .argument('<name>', 'Name or id')
    .argument('<file>', 'File to write; an existing one is replaced')
    .jsonOption()
    .examples('kb export Harbour harbour.tar')
    .action(exportBase);
}

/** `quire kb import`. */
export function importCommand(): CliCommand {
  return new CliCommand('import')
    .summary('Create a knowledge base from an exported file')
    .description(
      'Create a knowledge base from an archive, of this service or another one, and wait until its documents are there. Vectors are kept when the embedding model is the same.',
    )
    .argument('<file>', "Archive that 'quire kb export' or the API wrote")
    .option('--name <name>', 'Name of the new knowledge base, instead of the archived one')
    .option('--embedding-model <id>', 'Embedding model, instead of the archived one')
    .option('--no-wait', 'Do not wait for the jobs')
    .jsonOption()
    .examples('kb import harbour.tar --name "Harbour (copy)"')
    .action(importBase);
}

async function exportBase(name: string, path: string, options: { json?: boolean }): Promise<void> {
  const api = await openApiClient();
  const { id } = await requireKnowledgeBase(api, name);
  const response = await api.send('POST', `${PATH}/${id}/export`);
  if (response.body === null) throw new OperatorError('The service sent no archive.');
  const temporary = `${path}.${process.pid}.new`;
  const progress = new ProgressLine(process.stderr);
  let bytes = 0;
  try {
    const file = await open(temporary, 'w', 0o600).catch((error: unknown) => {
      throw new OperatorError(`${path} cannot be written: ${describeError(error)}`);
    });
    try {
      // A broken connection may look like the end: the archive is read back as it is written.
      const written = async function* (body: AsyncIterable<Uint8Array>) {
        for await (const chunk of body) {
          await file.writeFile(chunk);
          bytes += chunk.length;
          progress.show({ receivedBytes: bytes, totalBytes: null });
          yield chunk;
        }
      };
      for await (const part of readArchive(written(response.body))) {
        if (part.type === 'file') for await (const _ of part.content);
      }
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error instanceof OperatorError ? error : new OperatorError(`The export failed: ${describeError(error)}`);
  } finally {
    progress.end();
  }
  printResult(options, { id, file: path, bytes }, () => `Wrote ${path} (${formatMegabytes(bytes)}).`);
}

interface ImportOptions {
  name?: string;
  embeddingModel?: string;
  wait: boolean;
  json?: boolean;
}

async function importBase(path: string, { name, embeddingModel, wait, ...options }: ImportOptions): Promise<void> {
  const api = await openApiClient();
  await stat(path).catch((error: unknown) => {
    throw new OperatorError(`${path} cannot be read: ${describeError(error)}`);
  });
  const form = new FormData();
  if (name !== undefined) form.append('name', name);
  if (embeddingModel !== undefined) form.append('embedding_model', embeddingModel);
  form.append('file', await openAsBlob(path), 'archive.tar');
  const imported = await api.json<ImportedKnowledgeBase>('POST', `${PATH}/import`, form);
  const { knowledge_base: base, data_sources: sources } = imported;
  if (wait) await awaitJobs(api, imported);
  const current = await api.json<KnowledgeBase>('GET', `${PATH}/${base.id}`);
  const closed = sources.filter(({ needs_credentials }) => needs_credentials).map((source) => source.name);
  printResult(options, { ...imported, knowledge_base: current }, () =>
    [
      `Imported '${current.name}' (${current.id}) with ${formatCount(current.document_count, 'document')} in ${formatCount(current.chunk_count, 'chunk')}.`,
      ...(closed.length === 0 ? [] : [`Credentials are missing for: ${closed.join(', ')}. Send them with PATCH.`]),
    ].join('\n'),
  );
}

/** Waits until the jobs have ended. Throws an `OperatorError` when one failed. */
async function awaitJobs(
  api: Awaited<ReturnType<typeof openApiClient>>,
  { knowledge_base: base, data_sources: sources }: ImportedKnowledgeBase,
): Promise<void> {
  const line = new StatusLine(process.stderr);
  try {
    for (const { ingestion_job_id: jobId, name } of sources) {
      for (;;) {
        const job = await api.json<IngestionJob>('GET', `${PATH}/${base.id}/ingestion-jobs/${jobId}`);
        if (job.status === 'failed') {
          throw new OperatorError(`The data source '${name}' was not imported: ${job.error?.message}`);
        }
        if (job.status === 'completed') break;
        line.show('importing', { done: job.documents_processed, total: job.documents_scanned });
        await pause(POLL_MS);
      }
    }
  } finally {
    line.end();
  }
}
