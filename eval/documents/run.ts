/** Evaluates the ingestion of all test documents through a service; see eval/README.md. */
import { runEvaluation } from '../../bench/harness/evaluation.ts';
import type { ServiceClient } from '../../bench/harness/service-client.ts';
import { deletionSheet } from './deletion.ts';
import { contradictions, type Fate, fatesOf } from './fates.ts';
import { type IngestionResult, ingest, uploadFiles } from './ingesting.ts';
import { ARCHIVES, inputFiles } from './inputs.ts';
import { faultSheet, outcomeSheet, sentences } from './sheets.ts';

/** Number of slowest files to list. */
const SLOWEST = 10;

await runEvaluation({
  name: 'documents',
  models: ['embed-large-en-v1.5'],
  files: ARCHIVES,
  logLevel: 'debug',
  async *measure(service, data) {
    const sent = await uploadFiles(service, inputFiles(data));
    const ids = new Map(sent.flatMap((each) => ('id' in each ? [[each.id, each.file.path] as const] : [])));
    const ingestion = await ingest(service, [...ids.keys()]);
    const fates = fatesOf(sent, ingestion);
    yield outcomeSheet(fates);
    yield faultSheet(fates);
    say(`${sentences(fates)}\n\n${account(fates)}`);
    say(contradictions(sent, ingestion).join('\n') || 'The job, its details, the documents and the files agree.');
    say(`${figures(ingestion)}\n${fromLog(service, ids)}\n`);
    yield await deletionSheet(service, ingestion);
  },
});

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function account(fates: readonly Fate[]): string {
  const lost = fates.filter(({ outcome }) => outcome === 'lost').map(({ file }) => file.path);
  const paths = new Set(fates.map(({ file }) => `${file.collection}/${file.path}`));
  return `${fates.length} files, ${paths.size} of them with a path of their own; without an outcome: ${lost.join(', ') || 'none'}.`;
}

function figures({ job, seconds, peakMb }: IngestionResult): string {
  const memory = peakMb === null ? '' : `, at most ${peakMb.toFixed(0)} MB of the service's processes`;
  return `${job.documents_processed} documents, ${job.chunks_created} chunks in ${seconds.toFixed(0)} s${memory}.`;
}

/** Durations of the slowest files and unexpected messages, from the service's log. */
function fromLog({ own }: ServiceClient, ids: ReadonlyMap<string, string>): string {
  if (own === null) return 'The log of a service that ran before is not read.';
  const nameOf = (item: unknown) => ids.get(String(item)) ?? String(item);
  const slow = own.log
    .filter(({ msg }) => msg === 'item processed')
    .toSorted((a, b) => Number(b['ms']) - Number(a['ms']))
    .slice(0, SLOWEST)
    .map(({ ms, item }) => `${nameOf(item)} ${(Number(ms) / 1000).toFixed(1)} s`);
  const lost = own.log.filter(({ msg }) => msg === 'extraction process ended by a document');
  const loud = own.log.filter(({ level }) => level === 'warn' || level === 'error' || level === 'fatal');
  // Reasons of `server_error`, which are bugs.
  const broken = own.log.filter(({ msg, code }) => msg === 'document extraction failed' && code === 'server_error');
  return [
    `Slowest, from their fetching to their vectors: ${slow.join(', ')}.`,
    `Extraction processes ended by a document: ${lost.length}. Warnings and errors in the log: ${loud.length}.`,
    ...[...loud, ...broken].map((line) => `- ${JSON.stringify(line)}`),
  ].join('\n');
}
