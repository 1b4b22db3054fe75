import { OperatorError } from '../lib/operator-error.ts';
import { createApiClient } from './api-client.ts';
import type { CommandSpec } from './command-spec.ts';
import type { IngestResult } from './ingest/ingest-folder.ts';
import { runInterruptible } from './interrupted.ts';
import { formatCount, JSON_OPTION, printResult } from './output.ts';
import { StatusLine } from './status-line.ts';

/** Maximum number of failed documents, and of warnings, that are listed. */
const MAX_LISTED_DOCUMENTS = 50;

/** `quire ingest`. */
export const ingestCommand: CommandSpec = {
  summary:
    'Synchronize a knowledge base with a folder or a document: upload new and changed documents, remove deleted ones. Creates the knowledge base if it does not exist. QUIRE_URL and QUIRE_API_KEY set the service and the API key.',
  words: ['folder'],
  options: {
    kb: { type: 'text', help: 'Name or id of the knowledge base.', required: true },
    source: { type: 'text', help: "Name of the data source (default: the folder's path)." },
    ...JSON_OPTION,
  },
  action: async (input) => {
    const { kb = '', source } = input.options;
    const api = createApiClient();
    const { ingestFolder } = await import('./ingest/ingest-folder.ts');
    const request = { path: input.words[0] ?? '', base: kb, source: source ?? null };
    const line = new StatusLine(process.stderr);
    const result = await runInterruptible((signal) => ingestFolder(api, request, line, signal)).finally(() =>
      line.end(),
    );
    printResult(input, result, () => formatSummary(result, kb));
    const { failed_count } = result;
    if (failed_count > 0) throw new OperatorError(`${formatCount(failed_count, 'document')} could not be ingested.`);
  },
};

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
    ...(base !== null && base.document_count > 0 ? [`Ask it: npm run -s quire -- ask "..." --kb '${kb}'`] : []),
  ].join('\n');
}
