import { OperatorError } from '../lib/operator-error.ts';
import { apiClient } from './api-client.ts';
import type { CommandSpec } from './command-spec.ts';
import type { IngestResult } from './ingest/ingest-folder.ts';
import { interruptible } from './interrupted.ts';
import { counted, JSON_OPTION, print } from './output.ts';
import { StatusLine } from './status-line.ts';

/** Documents that failed, and those with warnings, that are shown by name. */
const SHOWN_FAILURES = 50;

/** `quire ingest`. */
export const ingest: CommandSpec = {
  summary:
    'Upload the documents of a folder, or one document, into a knowledge base, which is made when it is not there. Run again, it uploads what is new or changed and takes out what is gone. QUIRE_URL and QUIRE_API_KEY say where and who.',
  words: ['folder'],
  options: {
    kb: { type: 'text', help: 'Name or id of the knowledge base.', required: true },
    source: { type: 'text', help: "Name of the data source that stands for the folder (the folder's path)." },
    ...JSON_OPTION,
  },
  action: async (input) => {
    const { kb = '', source } = input.options;
    const api = apiClient();
    const { ingestFolder } = await import('./ingest/ingest-folder.ts');
    const call = { path: input.words[0] ?? '', base: kb, source: source ?? null };
    const line = new StatusLine(process.stderr);
    const result = await interruptible((signal) => ingestFolder(api, call, line, signal)).finally(() => line.end());
    print(input, result, () => summaryOf(result, kb));
    const { failed_count } = result;
    if (failed_count > 0) throw new OperatorError(`${counted(failed_count, 'document')} could not be ingested.`);
  },
};

function summaryOf({ knowledge_base: base, failed, failed_count, warned }: IngestResult, kb: string): string {
  const shown = failed.slice(0, SHOWN_FAILURES);
  const more = failed_count - shown.length;
  const moreWarned = warned.length - SHOWN_FAILURES;
  const documents = counted(base?.document_count ?? 0, 'document');
  return [
    base === null ? 'Nothing was ingested.' : `${documents}, ${counted(base.chunk_count, 'chunk')} in '${base.name}'.`,
    ...shown.map(({ name, message }) => `Failed: ${name}: ${message}`),
    ...(more > 0 ? [`Failed: ${more.toLocaleString('en-US')} more.`] : []),
    ...warned.slice(0, SHOWN_FAILURES).map(({ name, message }) => `Warning: ${name}: ${message}`),
    ...(moreWarned > 0 ? [`Warning: ${moreWarned.toLocaleString('en-US')} more.`] : []),
    ...(base !== null && base.document_count > 0 ? [`Ask it: npm run -s quire -- ask "..." --kb '${kb}'`] : []),
  ].join('\n');
}
