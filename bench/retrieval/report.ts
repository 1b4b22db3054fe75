import { type Summary, summarize } from '../harness/statistics.ts';
import { formatSummary, type TextTable } from '../harness/text-table.ts';
import type { IndexTimes } from './build-indexes.ts';
import { CONNECTIONS, DIRECT, type MeasuredWindow, type Recall } from './measure.ts';

/** Targets: minimum recall@10, and maximum p50 overhead over LanceDB in milliseconds. */
const AIMS = { recall: 0.95, addedMs: 2 };
const MEGABYTE = 1e6;

/** Figures for one number of chunks. */
export interface SizeFigures {
  chunks: number;
  documents: number;
  fillSeconds: number;
  /** Null when indexes were not rebuilt. */
  built: IndexTimes | null;
  /** Of the service's index and its database, and of Chroma's folder. */
  bytes: { index: number; database: number; chroma: number | null };
  chroma: { label: string; fillSeconds: number } | null;
  /** Resident memory of all processes of a contender. */
  memory: { what: string; bytes: number | undefined }[];
  recall: Recall[];
  windows: MeasuredWindow[];
}

type Figure = 'p50Ms' | 'p99Ms' | 'perSecond';

/** Tables of one size. */
export function retrievalTables(figures: SizeFigures): TextTable[] {
  const size = `${figures.chunks.toLocaleString('en')} chunks`;
  const { windows, chroma } = figures;
  const workloads = [...new Set(windows.map(({ workload }) => workload))].filter((name) => name !== 'query');
  const vectors = workloads.filter((name) => name.startsWith('vector'));
  return [
    speedTable(`${size}: Quire`, windows, workloads, 'Quire'),
    speedTable(`${size}: LanceDB called directly`, windows, workloads, DIRECT.lancedb),
    ...(chroma === null ? [] : [speedTable(`${size}: ${chroma.label}`, windows, vectors, chroma.label)]),
    addedTable(size, windows, workloads),
    recallTable(size, figures.recall, chroma?.label),
    factsTable(size, figures),
  ];
}

/** One line per target: met or not. */
export function aimLines(sizes: readonly SizeFigures[]): string[] {
  return sizes.flatMap(({ chunks, windows, recall }) => {
    const size = `${chunks.toLocaleString('en')} chunks`;
    const workloads = [...new Set(windows.map(({ workload }) => workload))].filter((name) => name !== 'query');
    return [
      ...recall.map(({ filter, quire }) =>
        line(`${size}, recall@10, ${filter} (aim >= ${AIMS.recall})`, quire.toFixed(3), quire >= AIMS.recall),
      ),
      ...workloads.map((workload) => {
        const added = addedTo(windows, workload, DIRECT.lancedb, 'Quire');
        const aim = `${size}, ms added to LanceDB at p50, ${workload} (aim <= ${AIMS.addedMs})`;
        return line(aim, formatSummary(added, 2), added.median <= AIMS.addedMs);
      }),
    ];
  });
}

function line(aim: string, figure: string, met: boolean): string {
  return `${met ? 'met   ' : 'MISSED'} ${aim}: ${figure}`;
}

function speedTable(
  title: string,
  windows: readonly MeasuredWindow[],
  workloads: readonly string[],
  contender: string,
): TextTable {
  const measures: [name: string, atOnce: number, figure: Figure, digits: number][] = CONNECTIONS.flatMap((atOnce) => [
    [`${atOnce} at once: p50 ms`, atOnce, 'p50Ms', 1],
    ['p99 ms', atOnce, 'p99Ms', 1],
    ['requests/s', atOnce, 'perSecond', 0],
  ]);
  return {
    title,
    columns: ['', ...measures.map(([name]) => name)],
    rows: workloads.map((workload) => [
      workload,
      ...measures.map(([, atOnce, figure, digits]) => {
        const values = figuresOf(windows, { workload, contender, atOnce }).map((window) => window[figure]);
        return formatSummary(summarize(values), digits);
      }),
    ]),
  };
}

function addedTable(size: string, windows: readonly MeasuredWindow[], workloads: readonly string[]): TextTable {
  const embedding = summarize(figuresOf(windows, { contender: DIRECT.embedding, atOnce: 1 }).map(({ p50Ms }) => p50Ms));
  return {
    title: `${size}: where the time of one request goes, ms at p50 (embedding a query: ${formatSummary(embedding, 2)})`,
    columns: ['', 'LanceDB', 'more in ChunkIndex', 'more in Quire', 'added in all'],
    rows: workloads.map((workload) => [
      workload,
      formatSummary(
        summarize(figuresOf(windows, { workload, contender: DIRECT.lancedb, atOnce: 1 }).map(({ p50Ms }) => p50Ms)),
        2,
      ),
      formatSummary(addedTo(windows, workload, DIRECT.lancedb, DIRECT['chunk-index']), 2),
      formatSummary(addedTo(windows, workload, DIRECT['chunk-index'], 'Quire'), 2),
      formatSummary(addedTo(windows, workload, DIRECT.lancedb, 'Quire'), 2),
    ]),
  };
}

/** Median difference of sequential p50 latencies, within rounds. */
function addedTo(windows: readonly MeasuredWindow[], workload: string, without: string, contender: string): Summary {
  const base = figuresOf(windows, { workload, contender: without, atOnce: 1 });
  const whole = figuresOf(windows, { workload, contender, atOnce: 1 });
  return summarize(
    whole.map(({ round, p50Ms }) => p50Ms - (base.find((window) => window.round === round)?.p50Ms ?? Number.NaN)),
  );
}

function figuresOf(windows: readonly MeasuredWindow[], wanted: Partial<MeasuredWindow>): MeasuredWindow[] {
  const keys = Object.keys(wanted) as (keyof MeasuredWindow)[];
  return windows.filter((window) => keys.every((key) => window[key] === wanted[key]));
}

function recallTable(size: string, recall: readonly Recall[], chroma: string | undefined): TextTable {
  return {
    title: `${size}: recall@10 of the vectors alone, against exact search`,
    columns: ['', 'chunks that are left', 'Quire', ...(chroma === undefined ? [] : [chroma])],
    rows: recall.map((entry) => [
      entry.filter,
      `${(100 * entry.selected).toFixed(1)} %`,
      entry.quire.toFixed(3),
      ...(entry.chroma === null ? [] : [entry.chroma.toFixed(3)]),
    ]),
  };
}

function factsTable(size: string, { documents, fillSeconds, built, bytes, chroma, memory }: SizeFigures): TextTable {
  const inSeconds = (value: number | null | undefined) =>
    value === null || value === undefined ? '-' : value.toFixed(1);
  const megabytes = (value: number | null | undefined) =>
    value === null || value === undefined ? '-' : (value / MEGABYTE).toFixed(0);
  return {
    title: `${size}: filling, disk and memory`,
    columns: ['', ''],
    rows: [
      ['documents', documents.toLocaleString('en')],
      ['files to chunks that are found, s', inSeconds(fillSeconds)],
      ['keyword index built, s', inSeconds(built?.terms)],
      ['vector index built, s', inSeconds(built?.vector)],
      ['index on disk, MB', megabytes(bytes.index)],
      ['database on disk, MB', megabytes(bytes.database)],
      ...memory.map(({ what, bytes: resident }) => [`${what}, resident MB`, megabytes(resident)]),
      ...(chroma === null
        ? []
        : [
            [`${chroma.label} filled, s`, inSeconds(chroma.fillSeconds)],
            [`${chroma.label} on disk, MB`, megabytes(bytes.chroma)],
          ]),
    ],
  };
}
