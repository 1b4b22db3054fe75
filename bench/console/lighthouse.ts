/**
 * Lighthouse on the main pages of the console, signed in, as on a desktop. Lighthouse is not a dependency:
 * `npm install --prefix FOLDER lighthouse`, then `npm run bench:console:lighthouse -- --from FOLDER [PATH...]`;
 * see bench/README.md.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { chromium } from 'playwright-core';
import { LAUNCH, startConsole } from '../../test/browser/console-page.ts';
import { useEmbeddedDatabases } from '../../test/spawned-service.ts';
import { renderTable } from '../harness/text-table.ts';
import { MAIN_PAGES } from './main-pages.ts';

const CATEGORIES = ['performance', 'accessibility', 'best-practices', 'seo'];
const MIN_SCORE = 0.95;
/** First and largest contentful paint, total blocking time, cumulative layout shift. */
const METRICS = [
  'first-contentful-paint',
  'largest-contentful-paint',
  'total-blocking-time',
  'cumulative-layout-shift',
];

/** Reported part of a Lighthouse result. */
interface LighthouseReport {
  categories: Record<string, { score: number | null; auditRefs: { id: string; weight: number }[] }>;
  audits: Record<string, { title: string; score: number | null; displayValue?: string; numericValue?: number }>;
}

interface Lighthouse {
  default(url: string, flags: object, config?: object): Promise<{ lhr: LighthouseReport }>;
  desktopConfig: object;
}

const { values: flags, positionals } = parseArgs({
  options: { from: { type: 'string', default: '.' }, report: { type: 'string' } },
  allowPositionals: true,
});
const script = resolve(flags.from, 'node_modules/lighthouse/core/index.js');
if (!existsSync(script)) {
  console.error(
    `Lighthouse is not installed in ${resolve(flags.from)}: npm install --prefix FOLDER lighthouse, --from FOLDER`,
  );
  process.exit(1);
}
const lighthouse = (await import(pathToFileURL(script).href)) as Lighthouse;
useEmbeddedDatabases();
const test = await startConsole();
const port = await findFreePort();
const browser = await chromium.launch({ ...LAUNCH, args: [...LAUNCH.args, `--remote-debugging-port=${port}`] });
try {
  const cookies = await test.page.context().cookies();
  const cookie = cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
  const rows: string[][] = [];
  const failed: string[] = [];
  for (const path of positionals.length > 0 ? positionals : MAIN_PAGES) {
    const extraHeaders = path === '/sign-in' ? {} : { Cookie: cookie };
    const options = { port, logLevel: 'error', onlyCategories: CATEGORIES, extraHeaders };
    const { lhr } = await lighthouse.default(test.service.url + path, options, lighthouse.desktopConfig);
    rows.push([
      path,
      ...CATEGORIES.map((name) => formatScore(lhr, name)),
      ...METRICS.map((id) => formatMetric(lhr, id)),
    ]);
    failed.push(...failedAudits(lhr).map((audit) => `${path}: ${audit}`));
    if (flags.report !== undefined) {
      mkdirSync(flags.report, { recursive: true });
      writeFileSync(join(flags.report, `${path.slice(1).replaceAll('/', '-')}.json`), JSON.stringify(lhr, null, 1));
    }
  }
  const columns = ['Page', 'Performance', 'Accessibility', 'Best practices', 'SEO', 'FCP', 'LCP', 'TBT', 'CLS'];
  console.log(renderTable({ title: 'Lighthouse, desktop', columns, rows }));
  console.log(failed.join('\n'));
} finally {
  await browser.close();
  await test.close();
}

function formatScore({ categories }: LighthouseReport, name: string): string {
  const score = categories[name]?.score ?? null;
  return score === null ? '–' : String(Math.round(score * 100));
}

function formatMetric({ audits }: LighthouseReport, id: string): string {
  return audits[id]?.displayValue ?? '–';
}

/** Audits that lower a score below the target. */
function failedAudits({ categories, audits }: LighthouseReport): string[] {
  const low = Object.values(categories).filter(({ score }) => score !== null && score < MIN_SCORE);
  const ids = low.flatMap(({ auditRefs }) => auditRefs.flatMap(({ id, weight }) => (weight > 0 ? [id] : [])));
  return [...new Set(ids)].flatMap((id) => {
    const { score = null, title = id, displayValue = '' } = audits[id] ?? {};
    return score === null || score >= 0.9 ? [] : [`${title} ${displayValue}`.trim()];
  });
}

/** Returns a free port of the loopback interface. */
async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((ready) => server.once('listening', ready));
  const { port } = server.address() as { port: number };
  await new Promise((closed) => server.close(closed));
  return port;
}
