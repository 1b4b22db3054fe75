/**
 * The figures of docs/use/capacity.md: CPU time of each kind of call, the prediction for a mix of them and its check
 * under load, and the disk of files and chunks. `npm run bench:capacity -- [--documents N] [--seconds N]`; see
 * bench/README.md.
 */
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { describeMachine, formatMachine, logProgress, runCommand } from '../harness/command.ts';
import { processMemory, processTree, processUsage } from '../harness/process-usage.ts';
import { type RunningQuire, startQuire } from '../harness/quire-process.ts';
import { quantile } from '../harness/statistics.ts';
import { renderTable } from '../harness/text-table.ts';
import { startMock } from '../mock-upstream/start-mock.ts';

const { values: flags } = parseArgs({
  options: { documents: { type: 'string', default: '1000' }, seconds: { type: 'string', default: '5' } },
});
const seconds = Number(flags.seconds);
/** Connections of a measured kind, and of the mix. */
const FEW = 4;
const MANY = 32;
/** One document: three chunks of the default size. */
const DOCUMENT_BYTES = 6_000;
/** Files of one data source. */
const FILES_PER_SOURCE = 100;
/** Old versions of the index are removed a minute after a write. */
const CLEANUP_MS = 70_000;
const BYTES_PER_MB = 1_000_000;

type Send = (path: string, body: object) => Promise<Response>;

/** Kinds of calls, with their share of the mix. */
const KINDS: Readonly<
  Record<string, { share: number; path: (base: string) => string; body: (base: string) => object }>
> = {
  chat: { share: 0.3, path: () => '/v1/chat/completions', body: () => chatBody({}) },
  'streamed chat': { share: 0.3, path: () => '/v1/chat/completions', body: () => chatBody({ stream: true }) },
  'grounded chat': {
    share: 0.2,
    path: () => '/v1/chat/completions',
    body: (base) => chatBody({ knowledge_bases: [base] }),
  },
  'keyword search': retrieval('keyword'),
  'vector search': retrieval('vector'),
  'hybrid search': retrieval('hybrid'),
};

function retrieval(search_type: string) {
  const body = () => ({ query: words(4), search_type, top_k: 5 });
  return { share: 0.2 / 3, path: (base: string) => `/v1/knowledge-bases/${base}/retrieve`, body };
}

const chatBody = (more: object) => ({ model: 'general-8b', messages: [{ role: 'user', content: words(30) }], ...more });

const SYLLABLES = ['ba', 'ro', 'mi', 'tel', 'kan', 'sur', 'lo', 'ven', 'dra', 'qui', 'pe', 'na'];
const syllable = () => SYLLABLES[Math.floor(Math.random() * SYLLABLES.length)] ?? '';
const words = (count: number) => Array.from({ length: count }, () => syllable() + syllable() + syllable()).join(' ');

/** Figures of a window. CPU in milliseconds per call. */
interface Window {
  calls: number;
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  mainCpuMs: number;
  allCpuMs: number;
}

const cpuByProcess = (pid: number) =>
  new Map(processTree(pid).map((member) => [member, processUsage([member])?.cpuMs ?? 0]));

/** Sends calls for `seconds` on some connections. Throws when a call fails. */
async function measure(quire: RunningQuire, connections: number, call: () => Promise<Response>): Promise<Window> {
  const before = cpuByProcess(quire.pid);
  const startedAt = performance.now();
  const times: number[] = [];
  const connection = async () => {
    while (performance.now() < startedAt + seconds * 1000) {
      const sentAt = performance.now();
      const response = await call();
      await response.arrayBuffer();
      if (response.status !== 200) throw new Error(`a call was answered with ${response.status}`);
      times.push(performance.now() - sentAt);
    }
  };
  await Promise.all(Array.from({ length: connections }, connection));
  const tookSeconds = (performance.now() - startedAt) / 1000;
  const calls = times.length;
  // Readers of documents that end meanwhile count nothing.
  const used = new Map([...cpuByProcess(quire.pid)].map(([pid, cpuMs]) => [pid, cpuMs - (before.get(pid) ?? 0)]));
  return {
    calls,
    perSecond: calls / tookSeconds,
    p50Ms: quantile(times, 0.5),
    p99Ms: quantile(times, 0.99),
    mainCpuMs: (used.get(quire.pid) ?? 0) / calls,
    allCpuMs: [...used.values()].reduce((sum, each) => sum + each, 0) / calls,
  };
}

async function folderBytes(folder: string): Promise<number> {
  let bytes = 0;
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])) {
    if (entry.isFile()) bytes += (await stat(join(entry.parentPath, entry.name)).catch(() => null))?.size ?? 0;
  }
  return bytes;
}

/** Sizes of the database without its WAL, of the index and of the files, in bytes. */
async function readSizes(dataDir: string): Promise<{ database: number; index: number; files: number }> {
  const [all, wal, index, files] = await Promise.all(
    ['postgres', 'postgres/pg_wal', 'index', 'blobs'].map((name) => folderBytes(join(dataDir, name))),
  );
  return { database: (all ?? 0) - (wal ?? 0), index: index ?? 0, files: files ?? 0 };
}

const memoryMb = (pid: number) =>
  processMemory(processTree(pid)).reduce((sum, { pssBytes }) => sum + pssBytes, 0) / BYTES_PER_MB;

/** Ingests documents; resolves with the id of the knowledge base. */
async function fill(quire: RunningQuire, send: Send, documents: number): Promise<string> {
  const authorization = `Bearer ${quire.apiKey}`;
  const base = (await (await send('/v1/knowledge-bases', { name: 'Capacity' })).json()) as { id: string };
  for (let first = 0; first < documents; first += FILES_PER_SOURCE) {
    const file_ids: string[] = [];
    for (let at = first; at < Math.min(documents, first + FILES_PER_SOURCE); at += 1) {
      const form = new FormData();
      form.append('purpose', 'knowledge-base');
      form.append('file', new Blob([words(DOCUMENT_BYTES / 8)]), `${at}.md`);
      const uploaded = await fetch(`${quire.origin}/v1/files`, {
        method: 'POST',
        headers: { authorization },
        body: form,
      });
      file_ids.push(((await uploaded.json()) as { id: string }).id);
    }
    const path = `/v1/knowledge-bases/${base.id}/data-sources`;
    const source = (await (await send(path, { type: 'file_upload', config: { file_ids } })).json()) as { id: string };
    const isActive = async () => {
      const response = await fetch(`${quire.origin}${path}/${source.id}`, { headers: { authorization } });
      return ((await response.json()) as { status: string }).status === 'active';
    };
    while (!(await isActive())) await delay(200);
    logProgress(`${Math.min(documents, first + FILES_PER_SOURCE)} documents`);
  }
  return base.id;
}

const milliseconds = (value: number) => value.toFixed(2);

function renderCalls(windows: Readonly<Record<string, Window>>): string {
  const row = ([kind, { mainCpuMs, allCpuMs, perSecond, p50Ms, p99Ms }]: [string, Window]) => [
    kind,
    milliseconds(mainCpuMs),
    milliseconds(allCpuMs),
    (1000 / mainCpuMs).toFixed(0),
    perSecond.toFixed(0),
    p50Ms.toFixed(1),
    p99Ms.toFixed(1),
  ];
  const columns = [
    'call',
    'CPU ms, main',
    'CPU ms, all',
    'calls/s of one core',
    'measured calls/s',
    'p50 ms',
    'p99 ms',
  ];
  return renderTable({ title: 'Calls', columns, rows: Object.entries(windows).map(row) });
}

/** A random kind, by its share. */
function pickKind(): string {
  let rest = Math.random();
  for (const [kind, { share }] of Object.entries(KINDS)) {
    rest -= share;
    if (rest < 0) return kind;
  }
  return 'chat';
}

async function measureCalls(quire: RunningQuire, send: Send, base: string): Promise<string> {
  const windows: Record<string, Window> = {};
  const call = (kind: string) => {
    const { path, body } = KINDS[kind] as (typeof KINDS)[string];
    return send(path(base), body(base));
  };
  for (const kind of Object.keys(KINDS)) {
    await measure(quire, FEW, () => call(kind));
    windows[kind] = await measure(quire, FEW, () => call(kind));
    logProgress(`${kind}: ${milliseconds(windows[kind].mainCpuMs)} ms`);
  }
  const counts: Record<string, number> = {};
  const callAny = () => {
    const kind = pickKind();
    counts[kind] = (counts[kind] ?? 0) + 1;
    return call(kind);
  };
  windows['mix'] = await measure(quire, MANY, callAny);
  const predicted = (of: 'mainCpuMs' | 'allCpuMs') =>
    Object.entries(counts).reduce((sum, [kind, count]) => sum + count * (windows[kind]?.[of] ?? 0), 0) /
    (windows['mix']?.calls ?? 1);
  const error = (of: 'mainCpuMs' | 'allCpuMs') =>
    `${((100 * predicted(of)) / (windows['mix']?.[of] ?? 1) - 100).toFixed(0)} %`;
  return [
    renderCalls(windows),
    '',
    `Prediction of the mix: ${milliseconds(predicted('mainCpuMs'))} ms of the main process (${error('mainCpuMs')}), ${milliseconds(predicted('allCpuMs'))} ms of all (${error('allCpuMs')}).`,
  ].join('\n');
}

async function main(): Promise<void> {
  const machine = describeMachine();
  const documents = Number(flags.documents);
  const folder = await mkdtemp(join(tmpdir(), 'quire-bench-'));
  const dataDir = join(folder, 'data');
  const mock = await startMock();
  const quire = await startQuire(`${mock.origin}/v1`, [], { QUIRE_DATA_DIR: dataDir });
  const send: Send = (path, body) =>
    fetch(quire.origin + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${quire.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  try {
    const before = { sizes: await readSizes(dataDir), memory: memoryMb(quire.pid) };
    const startedAt = performance.now();
    const base = await fill(quire, send, documents);
    const fillSeconds = (performance.now() - startedAt) / 1000;
    const response = await fetch(`${quire.origin}/v1/knowledge-bases/${base}`, {
      headers: { authorization: `Bearer ${quire.apiKey}` },
    });
    const { chunk_count: chunks } = (await response.json()) as { chunk_count: number };
    const calls = await measureCalls(quire, send, base);
    await delay(CLEANUP_MS);
    const after = { sizes: await readSizes(dataDir), memory: memoryMb(quire.pid) };
    const kilobytes = (name: 'database' | 'index' | 'files') =>
      ((after.sizes[name] - before.sizes[name]) / chunks / 1000).toFixed(1);
    const rows = [
      ['chunks', String(chunks)],
      ['chunks per second, uploads included', (chunks / fillSeconds).toFixed(0)],
      ['database, KB per chunk', kilobytes('database')],
      ['index, KB per chunk', kilobytes('index')],
      ['files, KB per chunk', kilobytes('files')],
      ['memory of all processes at the start, MB', before.memory.toFixed(0)],
      ['memory of all processes at the end, MB', after.memory.toFixed(0)],
    ];
    console.log(
      [formatMachine(machine), '', calls, '', renderTable({ title: 'Data', columns: ['', ''], rows })].join('\n'),
    );
  } finally {
    await quire.stop();
    await mock.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

await runCommand(main);
