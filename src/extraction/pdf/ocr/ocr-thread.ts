/**
 * Worker thread of a reader process that reads pages by OCR, one at a time: pdfium and Tesseract block it. The main
 * thread ends it when a page takes too long.
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { describeError } from '../../../lib/operator-error.ts';
import type { ReaderInput } from '../../extracted-document.ts';
import { PdfiumDocument } from '../pdfium.ts';
import { MAX_IMAGE_PIXELS, PAGE_SECONDS } from './limits.ts';
import type { OcrEngine } from './ocr-engine.ts';
import { parseTsv, type RecognizedPage } from './recognized-page.ts';
import { listTurns, measureDirection } from './skew.ts';
import { TesseractCore } from './tesseract-core.ts';
import { selectTiffPage, type TiffPage } from './tiff-pages.ts';

/** A page that a thread reads. */
export type PageTask =
  | { kind: 'pdf'; page: number; isScanOnly: boolean }
  | { kind: 'image'; orientation: number }
  | { kind: 'tiff'; directory: TiffPage };

/** What a thread reads pages of. */
export interface OcrThreadData {
  input: Pick<ReaderInput, 'content' | 'bytes'>;
  engine: OcrEngine;
}

/** Reply to a task: the page, null when it is no scan and `isScanOnly` is set, or why it cannot be read. */
export type PageReply = { page: RecognizedPage | null } | { error: string };

/** Resolution of rendered pages: 300 dpi took half as long again and read no more words, also of 7 points. */
const RENDER_DPI = 200;
const POINTS_PER_INCH = 72;
/** Share of a page that an image covers in a scan with a stamp or a footer of text. */
const MIN_SCAN_COVERAGE = 0.6;
/** Mean confidence from which a page is upright: it is above 90 on clean scans, and up to 80 upside down. */
const UPRIGHT_CONFIDENCE = 85;
/** EXIF orientations by quarter turns clockwise: of upright and of mirrored images. */
const ORIENTATIONS = [
  [1, 6, 3, 8],
  [2, 7, 4, 5],
];
/** OCR yields to requests that the machine answers. On Linux, a priority concerns only the thread. */
const NICENESS = 5;
const MAX_OUTPUT_BYTES = 67_108_864;

const { input, engine } = workerData as OcrThreadData;
let core: Promise<TesseractCore> | null = null;
let pdf: Promise<PdfiumDocument> | null = null;
let file: Promise<Buffer> | null = null;
/** Quarter turns of the last page: pages of a document usually lie the same way, and a wrong turn costs a reading. */
let lastQuarters = 0;

if (process.platform === 'linux') setPriority(NICENESS);
parentPort?.on('message', async (task: PageTask) => {
  parentPort?.postMessage(await answer(task));
});

async function answer(task: PageTask): Promise<PageReply> {
  try {
    return { page: await readPage(task) };
  } catch (error) {
    return { error: describeError(error) };
  }
}

async function readPage(task: PageTask): Promise<RecognizedPage | null> {
  if (task.kind === 'pdf') return readPdfPage(task);
  file ??= 'path' in input.content ? readFile(input.content.path) : Promise.resolve(Buffer.from(input.content));
  if (task.kind === 'tiff') selectTiffPage(await file, task.directory);
  return recognize(await file, task.kind === 'image' ? task.orientation : 1, null);
}

async function readPdfPage({ page: number, isScanOnly }: { page: number; isScanOnly: boolean }) {
  pdf ??= PdfiumDocument.open(input);
  const document = await pdf;
  const { coverage, pixels } = document.pageImages(number);
  if (isScanOnly && coverage < MIN_SCAN_COVERAGE) return null;
  if (pixels > MAX_IMAGE_PIXELS) throw new Error(`an image of the page has ${pixels} pixels`);
  const { width, height } = document.pageSize(number);
  const most = Math.sqrt(MAX_IMAGE_PIXELS / (width * height));
  const pixelsPerPoint = Math.min(RENDER_DPI / POINTS_PER_INCH, most);
  const bitmap = document.renderPage(number, { pixelsPerPoint, isGray: true });
  if (bitmap.pixels.every((pixel) => pixel === bitmap.pixels[0])) return parseTsv('', RENDER_DPI);
  const header = Buffer.from(`P5\n${bitmap.width} ${bitmap.height}\n255\n`);
  return recognize(Buffer.concat([header, bitmap.pixels]), 1, pixelsPerPoint * POINTS_PER_INCH);
}

/** Recognizes an image, turned until its text is upright and its lines are level. */
async function recognize(image: Uint8Array, orientation: number, dpi: number | null): Promise<RecognizedPage> {
  core ??= TesseractCore.load(engine.data);
  const tesseract = await core;
  tesseract.setFile(image);
  tesseract.turn(orientation, 0);
  const { isSideways } = measureDirection(tesseract.binarize());
  let best: RecognizedPage | null = null;
  let bestQuarters = 0;
  for (const quarters of listTurns(isSideways, lastQuarters)) {
    const turned = turnOrientation(orientation, quarters);
    tesseract.turn(turned, 0);
    const { skew } = measureDirection(tesseract.binarize());
    if (skew !== 0) tesseract.turn(turned, -skew);
    const tsv = engine.systemArguments === null ? tesseract.recognize(dpi) : await recognizeBySystem(tesseract, dpi);
    const page = parseTsv(tsv, dpi ?? RENDER_DPI, { quarters, skew });
    if (best === null || page.confidence > best.confidence) [best, bestQuarters] = [page, quarters];
    if (page.words === 0 || page.confidence >= UPRIGHT_CONFIDENCE) break;
  }
  lastQuarters = bestQuarters;
  return best as RecognizedPage;
}

function turnOrientation(orientation: number, quarters: number): number {
  const cycle = ORIENTATIONS.find((each) => each.includes(orientation)) ?? [1, 6, 3, 8];
  return cycle[(cycle.indexOf(orientation) + quarters) % cycle.length] as number;
}

function recognizeBySystem(tesseract: TesseractCore, dpi: number | null): Promise<string> {
  const dpiArguments = dpi === null ? [] : ['--dpi', String(Math.round(dpi))];
  const fixed = ['stdin', 'stdout', ...(engine.systemArguments ?? []), '--psm', '3', '-c', 'tessedit_create_tsv=1'];
  const options = {
    timeout: PAGE_SECONDS * 1_000,
    killSignal: 'SIGKILL' as const,
    maxBuffer: MAX_OUTPUT_BYTES,
  };
  // Several threads for a page are slower than one: they wait for each other.
  const [program, ...one] =
    process.platform === 'win32' ? ['tesseract'] : (['env', 'OMP_THREAD_LIMIT=1', 'tesseract'] as const);
  return new Promise((resolve, reject) => {
    const child = execFile(program, [...one, ...fixed, ...dpiArguments], options, (error, stdout) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`tesseract failed with ${error.killed ? 'a timeout' : `status ${error.code}`}`));
    });
    // A process that ends early closes its input; the callback has its status.
    child.stdin?.on('error', () => {}).end(tesseract.encodePng());
  });
}
