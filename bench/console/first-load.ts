/**
 * First load of the console in Chromium on loopback, without a browser cache: compressed bytes, and the time until a
 * page shows its data and its main thread is idle. `npm run bench:console:load -- [--rounds N]`; see bench/README.md.
 */
import { parseArgs } from 'node:util';
import type { Page } from 'playwright-core';
import { type ConsoleTest, startConsole } from '../../test/browser/console-page.ts';
import { useEmbeddedDatabases } from '../../test/spawned-service.ts';
import { summarize } from '../harness/statistics.ts';
import { formatSummary, renderTable } from '../harness/text-table.ts';

const PAGES = ['/sign-in', '/', '/overview', '/knowledge-bases', '/playground', '/usage'];
const BYTES_PER_KB = 1000;
/** Without a long task for this time, the main thread is idle. */
const QUIET_MS = 500;

/** One load of a page. Times in ms since the navigation. */
interface Load {
  scriptBytes: number;
  allBytes: number;
  requests: number;
  firstPaintMs: number;
  interactiveMs: number;
}

const { values: flags } = parseArgs({ options: { rounds: { type: 'string', default: '7' } } });
useEmbeddedDatabases();
const test = await startConsole();
try {
  const rows: string[][] = [];
  for (const path of PAGES) {
    const loads: Load[] = [];
    for (let round = 0; round < Number(flags.rounds); round += 1) loads.push(await load(test, path));
    const column = (value: (load: Load) => number, digits: number) =>
      formatSummary(summarize(loads.map(value)), digits);
    rows.push([
      path,
      column(({ scriptBytes }) => scriptBytes / BYTES_PER_KB, 0),
      column(({ allBytes }) => allBytes / BYTES_PER_KB, 0),
      column(({ requests }) => requests, 0),
      column(({ firstPaintMs }) => firstPaintMs, 0),
      column(({ interactiveMs }) => interactiveMs, 0),
    ]);
  }
  const columns = ['Page', 'JavaScript, kB', 'All, kB', 'Requests', 'First paint, ms', 'Interactive, ms'];
  console.log(renderTable({ title: 'First load of the console', columns, rows }));
} finally {
  await test.close();
}

/** Loads a page in a new context, whose cache is empty. */
async function load(console: ConsoleTest, path: string): Promise<Load> {
  const page = await console.newPage();
  if (path !== '/sign-in') await page.context().addCookies(await console.page.context().cookies());
  const transferred = await countTransfers(page);
  await page.addInitScript(watchLongTasks);
  await console.open(path, page);
  await page.waitForTimeout(QUIET_MS);
  const times = await page.evaluate(() => {
    const { lastTaskEnd } = globalThis as unknown as { lastTaskEnd: number };
    const paint = performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Number.NaN;
    const responses = performance.getEntriesByType('resource') as unknown as { responseEnd: number }[];
    const lastResponse = Math.max(...responses.map(({ responseEnd }) => responseEnd));
    return { firstPaintMs: paint, interactiveMs: Math.max(paint, lastTaskEnd, lastResponse) };
  });
  await page.context().close();
  return { ...transferred, ...times };
}

/** Counts the compressed bytes of all responses from now on. */
async function countTransfers(page: Page): Promise<Pick<Load, 'scriptBytes' | 'allBytes' | 'requests'>> {
  const totals = { scriptBytes: 0, allBytes: 0, requests: 0 };
  const scripts = new Set<string>();
  const session = await page.context().newCDPSession(page);
  await session.send('Network.enable');
  session.on('Network.responseReceived', ({ requestId, type }) => type === 'Script' && scripts.add(requestId));
  session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    totals.requests += 1;
    totals.allBytes += encodedDataLength;
    if (scripts.has(requestId)) totals.scriptBytes += encodedDataLength;
  });
  return totals;
}

/** Runs in the page: keeps the end of the last task of the main thread above 50 ms. */
function watchLongTasks(): void {
  const state = globalThis as unknown as { lastTaskEnd: number };
  state.lastTaskEnd = 0;
  new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries())
      state.lastTaskEnd = Math.max(state.lastTaskEnd, startTime + duration);
    // Node's types apply here, and Node has no long tasks.
  }).observe({ type: 'longtask' as 'mark', buffered: true });
}
