/** A first start with the minimum memory, and work on it: all processes together stay below the limit. Linux only. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { MIN_MEMORY_MB } from '../../src/config/memory-budget.ts';
import { chat, chatBody } from '../crash/load.ts';
import { column, makePdf } from '../fixtures/documents-pdf.ts';
import { newDataDir, runQuire, type Service, startService, useEmbeddedDatabases } from '../spawned-service.ts';
import { scaled } from './scale.ts';

useEmbeddedDatabases();

/** Memory that the kernel charges besides process memory: page tables, sockets, open files. */
const KERNEL_MB = 24;
const SAMPLE_MS = 50;
const TEXTS = scaled(200, 20);
const PDF_PAGES = scaled(400, 40);
const CHATS = 8;

describe('the minimum memory', { skip: process.platform !== 'linux' }, () => {
  const documents = mkdtempSync(join(tmpdir(), 'quire-documents-'));
  after(() => rmSync(documents, { recursive: true }));
  const lines = (count: number, of: string) =>
    Array.from({ length: count }, (_, i) => `Line ${i} of ${of} tells of ships, harbours and the sea.`);

  it('suffices for a first start, chats and ingestion, with children first in the order of the OOM killer', async (t) => {
    for (let i = 0; i < TEXTS; i += 1)
      writeFileSync(join(documents, `text-${i}.md`), lines(200, `text ${i}`).join('\n'));
    const pages = Array.from({ length: PDF_PAGES }, (_, page) => column(lines(60, `page ${page}`), 60, 740));
    writeFileSync(join(documents, 'pages.pdf'), makePdf(pages));
    const watch = watchMemory();
    const service = await startService({
      dataDir: newDataDir(),
      env: { QUIRE_MEMORY_LIMIT_MB: String(MIN_MEMORY_MB), QUIRE_LOCAL_CALIBRATION: 'first' },
    });
    const answers = Array.from({ length: CHATS }, () => chat(service, chatBody('general-8b', true, 100)));
    assert.ok((await Promise.all(answers)).every(({ status, whole }) => status === 200 && whole));
    await ingest(service, documents);
    const { peakMb, scores } = watch.stop();
    assert.deepEqual(await service.stop(), { code: 0, signal: null });
    t.diagnostic(`peak of all processes: ${peakMb} MB`);
    assert.ok(peakMb <= MIN_MEMORY_MB - KERNEL_MB, `the processes took ${peakMb} of ${MIN_MEMORY_MB} MB`);
    assert.deepEqual([...scores].toSorted(), ['quire-reader 1000', 'service 0', 'model host 900'].toSorted());
  });
});

async function ingest(service: Service, folder: string): Promise<void> {
  const env = { QUIRE_URL: service.url, QUIRE_API_KEY: service.key };
  const { code, stderr, stdout } = await runQuire(['ingest', folder, '--kb', 'Harbour'], { env });
  assert.equal(code, 0, stdout + stderr);
}

/** Samples the anonymous and shared memory and the OOM scores of the service and its children. */
function watchMemory(): { stop(): { peakMb: number; scores: ReadonlySet<string> } } {
  const inherited = Number(readFileSync('/proc/self/oom_score_adj', 'utf8'));
  const scores = new Set<string>();
  let peakMb = 0;
  const timer = setInterval(() => {
    let sumKb = 0;
    let sharedKb = 0;
    for (const { pid, name } of serviceProcesses()) {
      const status = readProc(pid, 'status');
      const score = Number(readProc(pid, 'oom_score_adj'));
      sumKb += Number(/RssAnon:\s+(\d+)/.exec(status)?.[1] ?? 0);
      // The shared buffers of PostgreSQL: the same pages in each of its processes.
      sharedKb = Math.max(sharedKb, Number(/RssShmem:\s+(\d+)/.exec(status)?.[1] ?? 0));
      // A process raises its score some milliseconds after its start.
      if (name === 'service') scores.add(`service ${score - inherited}`);
      else if (name !== '' && score > inherited) scores.add(`${name} ${score}`);
    }
    peakMb = Math.max(peakMb, Math.round((sumKb + sharedKb) / 1024));
  }, SAMPLE_MS);
  return {
    stop: () => {
      clearInterval(timer);
      return { peakMb, scores };
    },
  };
}

/** Lists the descendants of this test that belong to the service. */
function serviceProcesses(): { pid: string; name: string }[] {
  const all = readdirSync('/proc').filter((entry) => /^\d+$/.test(entry));
  const parents = new Map(all.map((pid) => [pid, /\) \S (\d+)/.exec(readProc(pid, 'stat'))?.[1]]));
  const isOurs = (pid: string | undefined): boolean =>
    pid !== undefined && (pid === String(process.pid) || isOurs(parents.get(pid)));
  return all.flatMap((pid) => {
    const command = readProc(pid, 'cmdline').replaceAll('\0', ' ');
    if (pid === String(process.pid) || !isOurs(parents.get(pid)) || command.includes(' ingest ')) return [];
    const name = command.includes('/host.ts')
      ? 'model host'
      : command.includes('quire-reader')
        ? 'quire-reader'
        : command.includes('start.js serve')
          ? 'service'
          : '';
    return [{ pid, name }];
  });
}

/** Returns an empty string when the process has exited. */
function readProc(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}
