/**
 * `node eval/ocr/run.ts [PAGES]`: recall of words on scans that are made from a known text, CPU time per page and
 * memory, for the bundled OCR and for the system's `tesseract` where it is installed. Then the time of PDFs of together
 * PAGES scans, which the two read in alternation.
 */
import { readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { type OcrEngine, selectOcrEngine } from '../../src/extraction/pdf/ocr/ocr-engine.ts';
import type { PageTask } from '../../src/extraction/pdf/ocr/ocr-thread.ts';
import { recognizeInThreads } from '../../src/extraction/pdf/ocr/ocr-threads.ts';
import type { PageBitmap } from '../../src/extraction/pdf/pdfium.ts';
import { encodePng, scanPage, scanPdf } from '../../test/fixtures/scans.ts';

const THREADS = 2;
/** Pages of the cases, in 14 points, and dense ones in 11 points, 500 words each. */
const LARGE = { lines: 22, lineCharacters: 62 };
const DENSE = { lines: 42, lineCharacters: 78, size: 11, pitch: 13 };
/** Turns of each engine. */
const ROUNDS = 2;
const NOISE = 90;

/** Dpi, degrees of skew, quarter turns and whether the pixels are noisy. */
const CASES: Readonly<Record<string, { dpi: number; skew?: number; quarters?: number; isNoisy?: boolean }>> = {
  '300 dpi, clean': { dpi: 300 },
  '150 dpi, clean': { dpi: 150 },
  '150 dpi, noise': { dpi: 150, isNoisy: true },
  '150 dpi, noise, skew 2': { dpi: 150, skew: 2, isNoisy: true },
  '150 dpi, noise, skew -6': { dpi: 150, skew: -6, isNoisy: true },
  '150 dpi, noise, on its side': { dpi: 150, quarters: 1, isNoisy: true },
  '150 dpi, noise, upside down': { dpi: 150, quarters: 2, isNoisy: true },
  '100 dpi, noise': { dpi: 100, isNoisy: true },
};

const TEXT = join(import.meta.dirname, '../../docs/use/operations.md');
const words = readFileSync(TEXT, 'utf8')
  .split(/\s+/)
  .filter((word) => /^[A-Za-z]{2,}[.,;:]?$/.test(word));

/** Lines of a page: the text from a word on, from the beginning again after its end. */
function pageLines(page: number, { lines: count, lineCharacters } = LARGE): string[] {
  const lines: string[] = [];
  for (let at = page * 131; lines.length < count; ) {
    let line = '';
    while (line.length < lineCharacters) line += `${words[at++ % words.length]} `;
    lines.push(line.trim());
  }
  return lines;
}

/** Adds noise with a fixed seed. */
function addNoise(scan: PageBitmap): PageBitmap {
  let seed = 7;
  const random = () => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff;
    return seed / 0x7fffffff - 0.5;
  };
  const pixels = scan.pixels.map((pixel) => Math.max(0, Math.min(255, pixel - 15 + NOISE * (random() + random()))));
  return { ...scan, pixels };
}

const normalize = (text: string) => text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');

function recall(lines: readonly string[], recognized: readonly string[]): number {
  const counts = new Map<string, number>();
  for (const word of recognized.map(normalize)) counts.set(word, (counts.get(word) ?? 0) + 1);
  const expected = lines
    .join(' ')
    .split(' ')
    .map(normalize)
    .filter((word) => word !== '');
  const read = expected.filter((word) => {
    const count = counts.get(word) ?? 0;
    counts.set(word, count - 1);
    return count > 0;
  });
  return read.length / expected.length;
}

async function measure(engine: OcrEngine, content: Buffer, tasks: PageTask[]) {
  const [started, cpu] = [performance.now(), process.cpuUsage()];
  const data = { input: { content, bytes: content.length }, engine };
  const replies = await recognizeInThreads(data, tasks, { threads: THREADS, onPage: () => {} });
  const { user, system } = process.cpuUsage(cpu);
  const pages = replies.map((reply) => ('page' in reply ? (reply.page?.pieces ?? []) : []).map(({ text }) => text));
  return { pages, seconds: (performance.now() - started) / 1_000, cpuSeconds: (user + system) / 1_000_000 };
}

const engines = new Map<string, OcrEngine>();
for (const name of ['bundled', 'system'] as const) {
  const engine = await selectOcrEngine({ engine: name, languages: ['eng'], folder: null, threads: 1 }).catch(
    () => null,
  );
  if (engine !== null) engines.set(name, engine);
}

for (const [name, engine] of engines) {
  for (const [label, { isNoisy, ...options }] of Object.entries(CASES)) {
    const lines = pageLines(0);
    const scan = await scanPage(lines, options);
    const content = encodePng(isNoisy ? addNoise(scan) : scan);
    const { pages, cpuSeconds } = await measure(engine, content, [{ kind: 'image', orientation: 1 }]);
    const share = (100 * recall(lines, pages[0] ?? [])).toFixed(1);
    console.log(`${name} | ${label} | recall ${share} % | ${cpuSeconds.toFixed(1)} s of CPU with the start`);
  }
}

const count = Number(process.argv[2] ?? 10);
const totals = new Map([...engines.keys()].map((name) => [name, { seconds: 0, cpuSeconds: 0, recall: 0 }]));
for (let round = 0; round < ROUNDS; round++) {
  const numbers = Array.from({ length: count }, (_, page) => page).filter((page) => page % ROUNDS === round);
  const scans: PageBitmap[] = [];
  for (const page of numbers) {
    scans.push(addNoise(await scanPage(pageLines(page, DENSE), { dpi: 150, skew: page % 3, ...DENSE })));
  }
  const content = scanPdf(scans.map((scan) => ({ scan })));
  const tasks = numbers.map((_, index): PageTask => ({ kind: 'pdf', page: index + 1, isScanOnly: false }));
  for (const [name, engine] of engines) {
    const { pages, seconds, cpuSeconds } = await measure(engine, content, tasks);
    const total = totals.get(name) ?? { seconds: 0, cpuSeconds: 0, recall: 0 };
    total.seconds += seconds;
    total.cpuSeconds += cpuSeconds;
    for (const [index, page] of pages.entries()) total.recall += recall(pageLines(numbers[index] ?? 0, DENSE), page);
    const load = loadavg()[0]?.toFixed(1);
    console.log(`${name} | round ${round + 1}, ${pages.length} pages | ${seconds.toFixed(0)} s | load ${load}`);
  }
}
const megabytes = Math.round(process.resourceUsage().maxRSS / 1_024);
for (const [name, { seconds, cpuSeconds, recall: read }] of totals) {
  const rate = ((60 * count) / seconds).toFixed(1);
  console.log(
    `${name} | ${count} pages | recall ${((100 * read) / count).toFixed(1)} % | ${seconds.toFixed(0)} s, ${rate} pages a minute | ${cpuSeconds.toFixed(0)} s of CPU without the system's program`,
  );
}
console.log(`peak ${megabytes} MB`);
