/** Evaluates what a service makes of every document there is; eval/README.md says what is measured. */
import { runEvaluation } from '../../bench/harness/evaluation.ts';
import type { ServiceClient } from '../../bench/harness/service-client.ts';
import { deletionSheet } from './deletion.ts';
import { contradictions, type Fate, fatesOf } from './fates.ts';
import { type Ingestion, ingest, send } from './ingesting.ts';
import { ARCHIVES, inputFiles } from './inputs.ts';
import { faultSheet, outcomeSheet, sentences } from './sheets.ts';

/** Files that are named as the slowest. */
const SLOWEST = 10;

await runEvaluation({
  name: 'documents',
  models: ['embed-large-en-v1.5'],
  files: ARCHIVES,
  logLevel: 'debug',
  async *measure(service, data) {
    const sent = await send(service, inputFiles(data));
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

function figures({ job, seconds, peakMb }: Ingestion): string {
  const memory = peakMb === null ? '' : `, at most ${peakMb.toFixed(0)} MB of the service's processes`;
  return `${job.documents_processed} documents, ${job.chunks_created} chunks in ${seconds.toFixed(0)} s${memory}.`;
}

/** How long the slowest took, which the log alone says, and what else it says that should not be. */
function fromLog({ own }: ServiceClient, ids: ReadonlyMap<string, string>): string {
  if (own === null) return 'The log of a service that ran before is not read.';
  const nameOf = (item: unknown) => ids.get(String(item)) ?? String(item);
  const slow = own.log
    .filter(({ msg }) => msg === 'a document was worked on')
    .toSorted((a, b) => Number(b['ms']) - Number(a['ms']))
    .slice(0, SLOWEST)
    .map(({ ms, item }) => `${nameOf(item)} ${(Number(ms) / 1000).toFixed(1)} s`);
  const lost = own.log.filter(({ msg }) => msg.startsWith('a document took the thread'));
  const loud = own.log.filter(({ level }) => level === 'warn' || level === 'error' || level === 'fatal');
  // The reasons of `server_error`, which is our own fault.
  const broken = own.log.filter(({ msg }) => msg === 'a document could not be ingested');
  return [
    `Slowest, from their fetching to their vectors: ${slow.join(', ')}.`,
    `Threads that a document took with it: ${lost.length}. Warnings and errors in the log: ${loud.length}.`,
    ...[...loud, ...broken].map((line) => `- ${JSON.stringify(line)}`),
  ].join('\n');
}
