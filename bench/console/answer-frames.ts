/**
 * Frames of a page while an answer streams: a loopback upstream sends Markdown at a constant rate, and Chromium writes
 * a trace. `npm run bench:console -- [--page playground|chat] [--rate TOKENS_PER_SECOND] [--seconds N] [--json FILE]
 * [--trace FILE]`; needs Chromium and a built console.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Browser, type CDPSession, chromium, type Locator, type Page } from 'playwright-core';
import { CHROMIUM_PATH } from '../../test/fixtures/chromium.ts';
import {
  BENCH_SCRATCH,
  describeMachine,
  formatMachine,
  runCommand,
  UsageError,
  writeResult,
} from '../harness/command.ts';
import { startQuire } from '../harness/quire-process.ts';
import { readFrames, type TraceEvent } from './frame-trace.ts';
import { startTokenServer } from './token-stream.ts';

const CATEGORIES = 'toplevel,cc,benchmark,viz,disabled-by-default-devtools.timeline,__metadata';
/** Label of the message field, and the text that marks the end of the answer, by page. */
const PAGES: Record<string, { label: string; ended(page: Page): Locator }> = {
  playground: {
    label: 'Ask something',
    ended: (page) => page.getByRole('button', { name: 'Send', exact: true }),
  },
  chat: { label: 'Ask about your documents', ended: (page) => page.locator('.chat-answer .chat-details') },
};
/** Frames are due every 16.7 ms. One that comes later than this has missed its display refresh. */
const LATE_FRAME_MS = 25;
/** Share of the frames at the end of the answer that is reported separately. */
const LAST_SHARE = 0.2;
/** Beyond the stream: start, end and the figures below the answer. */
const WAIT_MARGIN_MS = 60_000;

const { values: flags } = parseArgs({
  options: {
    page: { type: 'string', default: 'playground' },
    rate: { type: 'string', default: '200' },
    seconds: { type: 'string', default: '20' },
    json: { type: 'string', default: join(BENCH_SCRATCH, 'answer-frames.json') },
    /** Receives the trace, for Perfetto or the performance panel of Chromium. */
    trace: { type: 'string' },
  },
});
const measured = PAGES[flags.page];
const rate = Number(flags.rate);
const seconds = Number(flags.seconds);

/** Records the time between animation frames from now on. */
const RECORD_FRAMES = `
  globalThis.frameTimes = [];
  (function record(last) {
    requestAnimationFrame((now) => {
      if (last !== 0) globalThis.frameTimes.push(now - last);
      if (globalThis.frameTimes !== null) record(now);
    });
  })(0);
`;

await runCommand(async () => {
  if (CHROMIUM_PATH === null) throw new UsageError('No Chromium is installed: apt-get install chromium.');
  if (measured === undefined) throw new UsageError(`--page is one of ${Object.keys(PAGES).join(', ')}.`);
  const machine = describeMachine();
  const upstream = await startTokenServer(rate, seconds);
  let output = '';
  const quire = await startQuire(upstream.baseUrl, [], {}, (text) => {
    output += text;
  });
  const browser = await chromium.launch({ executablePath: CHROMIUM_PATH, args: ['--no-sandbox', '--disable-gpu'] });
  try {
    const setupLink = /http\S+\/join#\S+/.exec(output)?.[0];
    if (setupLink === undefined) throw new UsageError('The service printed no setup link: npm run build:console.');
    const page = await signUp(browser, setupLink);
    await page.goto(`${quire.origin}/${flags.page}`);
    const result = await measure(page, measured);
    console.table({ ...result, machine: formatMachine(machine) });
    await writeResult(flags.json, { page: flags.page, rate, machine, ...result });
  } finally {
    await browser.close();
    await quire.stop();
    await upstream.close();
  }
});

async function signUp(browser: Browser, setupLink: string): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  await page.goto(setupLink);
  await page.getByLabel('Email').fill('bench@example.com');
  await page.getByLabel('Name').fill('Bench');
  await page.getByLabel('Password', { exact: false }).first().fill('correct horse battery');
  await page.getByRole('button', { name: 'Create account' }).click();
  await page.getByRole('heading', { level: 1, name: 'Start' }).waitFor();
  return page;
}

async function measure(page: Page, { label, ended }: (typeof PAGES)[string] & object) {
  const input = page.getByLabel(label);
  await input.fill('Explain the workshop.');
  const cdp = await page.context().newCDPSession(page);
  const trace = await startTrace(cdp);
  await page.evaluate(RECORD_FRAMES);
  const startedAt = performance.now();
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Stop' }).waitFor();
  await ended(page).waitFor({ timeout: seconds * 1000 + WAIT_MARGIN_MS });
  const elapsed = (performance.now() - startedAt) / 1000;
  const frames = (await page.evaluate('globalThis.frameTimes')) as number[];
  const events = await trace.stop();
  if (flags.trace !== undefined) await writeFile(flags.trace, JSON.stringify({ traceEvents: events }));
  const report = readFrames(events, elapsed);
  const [text = ''] = await page.locator('.markdown').last().allInnerTexts();
  const words = text.split(/\s+/).length;
  // The answer is longest here, so a cost that grows with its length is visible.
  const last = summarizeFrames(frames.slice(-Math.ceil(frames.length * LAST_SHARE)));
  const cpuMsPerFrame = (report.mainThreadCpuMsPerSecond * elapsed) / frames.length;
  const atEnd = { lastFramesPerSecond: last.framesPerSecond, lastLateFrames: last.lateFrames };
  return { seconds: elapsed, words, ...summarizeFrames(frames), ...atEnd, ...report, cpuMsPerFrame };
}

function summarizeFrames(times: readonly number[]) {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? 0;
  const total = times.reduce((sum, time) => sum + time, 0);
  return {
    animationFrames: times.length,
    framesPerSecond: (times.length / total) * 1000,
    frameP50Ms: at(0.5),
    frameP95Ms: at(0.95),
    frameP99Ms: at(0.99),
    frameMaxMs: at(1),
    lateFrames: times.filter((time) => time > LATE_FRAME_MS).length,
  };
}

/** Starts a trace whose events are collected in memory. */
async function startTrace(cdp: CDPSession): Promise<{ stop(): Promise<TraceEvent[]> }> {
  const events: TraceEvent[] = [];
  cdp.on('Tracing.dataCollected', ({ value }) => {
    for (const event of value) events.push(event as unknown as TraceEvent);
  });
  await cdp.send('Tracing.start', { transferMode: 'ReportEvents', categories: CATEGORIES });
  return {
    async stop() {
      const complete = new Promise<void>((resolve) => cdp.once('Tracing.tracingComplete', () => resolve()));
      await cdp.send('Tracing.end');
      await complete;
      return events;
    },
  };
}
