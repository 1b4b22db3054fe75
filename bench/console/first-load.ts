/**
 * First load of the console in Chromium on loopback, without a browser cache: compressed bytes, and the time until a
 * page shows its data and its main thread is idle. `npm run bench:console:load -- [--rounds N]`; see bench/README.md.
 */
import { parseArgs } from 'node:util';
import { type ConsoleTest, startConsole } from '../../test/browser/console-page.ts';
import { countTransfers, type Transfers } from '../../test/browser/count-transfers.ts';
import { useEmbeddedDatabases } from '../../test/spawned-service.ts';
import { summarize } from '../harness/statistics.ts';
import { formatSummary, renderTable } from '../harness/text-table.ts';
import { MAIN_PAGES } from './main-pages.ts';

const BYTES_PER_KB = 1000;
/** Without a long task for this time, the main thread is idle. */
const QUIET_MS = 500;

/** One load of a page. Times in ms since the navigation. */
interface Load extends Transfers {
  firstPaintMs: number;
  interactiveMs: number;
}

const { values: flags } = parseArgs({ options: { rounds: { type: 'string', default: '7' } } });
useEmbeddedDatabases();
const test = await startConsole();
try {
  const rows: string[][] = [];
  for (const path of MAIN_PAGES) {
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
