import { OperatorError } from '../lib/operator-error.ts';
import { type ApiClient, openApiClient } from './api-client.ts';
import { CliCommand } from './command.ts';
import type { IngestRequest, IngestResult } from './ingest/ingest-folder.ts';
import { Interrupted, runInterruptible } from './interrupted.ts';
import { formatCount, printResult } from './output.ts';
import { StatusLine } from './status-line.ts';

/** Maximum number of failed documents, and of warnings, that are listed. */
const MAX_LISTED_DOCUMENTS = 50;

/** `quire ingest`. */
export function ingestCommand(): CliCommand {
  return new CliCommand('ingest')
    .description(
      'Synchronize a knowledge base with a folder or a document: upload new and changed documents, remove deleted ones. Creates the knowledge base if it does not exist.',
    )
    .argument('<path>', 'Folder or document')
    .requiredOption('--kb <name>', 'Name or id of the knowledge base')
    .option('--source <name>', "Name of the data source (default: the folder's path)")
    .option('--watch', 'Continue: ingest again after each change, until Ctrl-C')
    .jsonOption()
    .examples('ingest ~/manuals --kb Manuals', 'ingest ~/manuals --kb Manuals --watch')
    .action(ingest);
}

interface IngestOptions {
  kb: string;
  source?: string;
  watch?: true;
  json?: boolean;
}

async function ingest(path: string, { kb, source, ...options }: IngestOptions) {
  const api = await openApiClient();
  const { ingestFolder } = await import('./ingest/ingest-folder.ts');
  const request = { path, base: kb, source: source ?? null };
  const line = new StatusLine(process.stderr);
  if (options.watch) return watch(api, request, line, options);
  const result = await runInterruptible((signal) => ingestFolder(api, request, line, signal)).finally(() => line.end());
  printResult(options, result, () => formatSummary(result, kb));
  const { failed_count } = result;
  if (failed_count > 0) throw new OperatorError(`${formatCount(failed_count, 'document')} could not be ingested.`);
}

/** Ends without an error when it is interrupted. With `--json`, prints one line for each ingestion. */
async function watch(api: ApiClient, request: IngestRequest, line: StatusLine, { json }: { json?: boolean }) {
  const { watchFolder } = await import('./ingest/watch-folder.ts');
  const onIngested = (result: IngestResult) => console.log(json ? JSON.stringify(result) : formatSummary(result, null));
  try {
    await runInterruptible((signal) => watchFolder(api, request, { line, onIngested }, signal));
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error;
    line.printLine(error.message);
  } finally {
    line.end();
  }
}

/** `kb`: the knowledge base as the user named it, for a hint how to ask it; null: no hint. */
function formatSummary(
  { knowledge_base: base, failed, failed_count, warned }: IngestResult,
  kb: string | null,
): string {
  const shown = failed.slice(0, MAX_LISTED_DOCUMENTS);
  const more = failed_count - shown.length;
  const moreWarned = warned.length - MAX_LISTED_DOCUMENTS;
  const documents = formatCount(base?.document_count ?? 0, 'document');
  return [
    base === null
      ? 'Nothing was ingested.'
      : `${documents}, ${formatCount(base.chunk_count, 'chunk')} in '${base.name}'.`,
    ...shown.map(({ name, message }) => `Failed: ${name}: ${message}`),
    ...(more > 0 ? [`Failed: ${more.toLocaleString('en-US')} more.`] : []),
    ...warned.slice(0, MAX_LISTED_DOCUMENTS).map(({ name, message }) => `Warning: ${name}: ${message}`),
    ...(moreWarned > 0 ? [`Warning: ${moreWarned.toLocaleString('en-US')} more.`] : []),
    ...(kb !== null && base !== null && base.document_count > 0 ? [`Ask it: npx quire ask "..." --kb '${kb}'`] : []),
  ].join('\n');
}
