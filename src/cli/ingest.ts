import { OperatorError } from '../lib/operator-error.ts';
import { openApiClient } from './api-client.ts';
import { CliCommand } from './command.ts';
import type { IngestResult } from './ingest/ingest-folder.ts';
import { runInterruptible } from './interrupted.ts';
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
    .jsonOption()
    .examples('ingest ~/manuals --kb Manuals')
    .action(ingest);
}

async function ingest(path: string, { kb, source, ...options }: { kb: string; source?: string; json?: boolean }) {
  const api = await openApiClient();
  const { ingestFolder } = await import('./ingest/ingest-folder.ts');
  const request = { path, base: kb, source: source ?? null };
  const line = new StatusLine(process.stderr);
  const result = await runInterruptible((signal) => ingestFolder(api, request, line, signal)).finally(() => line.end());
  printResult(options, result, () => formatSummary(result, kb));
  const { failed_count } = result;
  if (failed_count > 0) throw new OperatorError(`${formatCount(failed_count, 'document')} could not be ingested.`);
}

function formatSummary({ knowledge_base: base, failed, failed_count, warned }: IngestResult, kb: string): string {
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
    ...(base !== null && base.document_count > 0 ? [`Ask it: npx quire ask "..." --kb '${kb}'`] : []),
  ].join('\n');
}
