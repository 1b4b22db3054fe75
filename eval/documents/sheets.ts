import { countColumn, type MetricColumn, type MetricRow, type MetricTable } from '../../bench/harness/metric-table.ts';
import type { Fate } from './fates.ts';

const whole = (name: string): MetricColumn => ({ name, digits: 0 });
const nothingForZero = (value: number): number | null => (value === 0 ? null : value);

/** Outcomes by collection and format, with error codes. */
export function outcomeSheet(fates: readonly Fate[]): MetricTable {
  const codes = codesOf(fates);
  const groups = Map.groupBy(fates, ({ file }) => `${file.collection} ${file.format}`);
  const rows = [...groups].map(([name, some]) => rowOf(name, some, codes));
  const names = ['refused', 'ingested', 'partly', 'failed', 'lost', ...codes];
  return {
    title: 'What became of every file',
    subject: 'collection and ending',
    columns: [countColumn('files'), ...names.map(whole), whole('documents'), whole('chunks')],
    rows: [...rows, rowOf('all', fates, codes)],
  };
}

function rowOf(name: string, fates: readonly Fate[], codes: readonly string[]): MetricRow {
  const outcomes = ['refused', 'ingested', 'partly', 'failed', 'lost'].map(
    (outcome) => fates.filter((fate) => fate.outcome === outcome).length,
  );
  const failures = codes.map((code) => fates.filter((fate) => isUnread(fate) && fate.fault?.code === code).length);
  const documents = fates.flatMap((fate) => fate.documents);
  const chunks = documents.reduce((sum, { chunk_count }) => sum + chunk_count, 0);
  return { name, cells: [fates.length, ...[...outcomes, ...failures, documents.length, chunks].map(nothingForZero)] };
}

/** Files of supported formats that were not ingested completely, with their error codes. */
export function faultSheet(fates: readonly Fate[]): MetricTable {
  const some = fates.filter(({ file, fault }) => fault !== null && file.format !== 'others');
  const codes = [...new Set(some.map(({ fault }) => fault?.code ?? ''))].toSorted();
  return {
    title: 'Files that were refused for what is in them, or failed',
    subject: 'file',
    columns: codes.map(whole),
    rows: some.map(({ file, fault }) => ({
      name: file.path.replace(/^\.\//, ''),
      cells: codes.map((code) => nothingForZero(Number(fault?.code === code))),
    })),
  };
}

/** Error messages with their frequency. */
export function sentences(fates: readonly Fate[]): string {
  const said = fates.flatMap(({ outcome, fault }) =>
    fault === null ? [] : [`${outcome}, ${fault.code}: ${fault.message}`],
  );
  return [...Map.groupBy(said, (sentence) => sentence)]
    .map(([sentence, { length }]) => `- ${length} ${sentence}`)
    .toSorted()
    .join('\n');
}

const isUnread = ({ outcome }: Fate): boolean => outcome === 'failed' || outcome === 'partly';

const codesOf = (fates: readonly Fate[]): string[] =>
  [...new Set(fates.filter(isUnread).map(({ fault }) => fault?.code ?? ''))].toSorted();
