import { collapseWhitespace } from '../../lib/clean-text.ts';
import { readAllBytes } from '../content.ts';
import type { DocumentMetadata } from '../document-metadata.ts';
import type { ExtractedDocument, Extraction, ReaderInput } from '../extracted-document.ts';
import { flattenMetadata, normalizeTitle } from '../flatten-metadata.ts';
import { IngestionError } from '../ingestion-error.ts';
import { invalidFile, MAX_PAGES, MAX_PDF_BYTES, noText, tooLarge } from '../limits.ts';
import { checkTextLength, TextWriter } from '../text-writer.ts';
import { formFieldTexts } from './form-fields.ts';
import { missingTextWarning, type PageOutcome, pageOutcome } from './missing-text.ts';
import { recognitionWarning } from './ocr/recognize-pages.ts';
import { boxText } from './ocr/text-boxes.ts';
import { orderLines } from './order-lines.ts';
import type { TextPiece } from './page-text.ts';
import { buildBlocks } from './paragraphs.ts';
import { CMAPS, getDocument, PasswordException, PdfjsWarnings, VerbosityLevel } from './pdfjs.ts';
import { type PageLines, removeRunningLines } from './running-lines.ts';
import { readScans } from './scanned-pages.ts';

type Pdf = Awaited<ReturnType<typeof getDocument>['promise']>;
type Page = Awaited<ReturnType<Pdf['getPage']>>;

/** The used part of a text item of pdf.js. */
interface PageTextItem {
  str: string;
  dir: string;
  width: number;
  height: number;
  transform: number[];
}

/** Pages between releases of loaded fonts. */
const CLEANUP_PAGES = 50;
/** Maximum text items read of a page; a full newspaper page has 10,000. */
const MAX_PIECES = 200_000;
/** Minimum plausible font size, in letter widths: fonts of drawn glyphs may declare any size. */
const MIN_HEIGHT = 0.2;

/**
 * Reads a PDF: text in reading order by columns, without running headers and footers, hyphenated words rejoined, with
 * the values of form fields. Pages without text are read by OCR. Throws `encrypted_file` when it needs a password,
 * `no_text` for blank pages, `too_large` above the maximum number of pages.
 */
export async function* readPdf(input: ReaderInput): AsyncGenerator<Extraction> {
  yield { part: '', document: await withPdf(input, (pdf, warnings) => buildDocument(input, pdf, warnings)) };
}

/** Opens a PDF and reads its first readable page. Throws as `readPdf` does, without `no_text`. */
export async function checkPdf(input: ReaderInput): Promise<void> {
  await withPdf(input, (pdf, warnings) => readPages(pdf, warnings, 1));
}

async function withPdf<T>(input: ReaderInput, use: (pdf: Pdf, warnings: PdfjsWarnings) => Promise<T>): Promise<T> {
  const data = new Uint8Array(await readAllBytes(input, MAX_PDF_BYTES));
  const warnings = new PdfjsWarnings();
  const loading = getDocument({
    ...CMAPS,
    data,
    verbosity: VerbosityLevel.WARNINGS,
    disableFontFace: true,
    useSystemFonts: false,
    stopAtErrors: false,
  });
  try {
    return await use(await openPdf(loading.promise), warnings);
  } finally {
    await loading.destroy();
    warnings.stop();
  }
}

async function buildDocument(input: ReaderInput, pdf: Pdf, warnings: PdfjsWarnings): Promise<ExtractedDocument> {
  const { title, metadata } = await readMetadata(pdf);
  const { pages, outcomes, recognition } = await readScans(input, await readPages(pdf, warnings));
  if (pages.every(({ lines }) => lines.length === 0)) {
    throw noText(
      recognition === null
        ? 'No page has text: the pages are blank, or images such as scans.'
        : 'No page has text, and OCR read none: the pages are blank, or pictures.',
    );
  }
  const pageWarnings = [
    missingTextWarning(outcomes),
    recognition === null ? null : recognitionWarning(recognition, outcomes.length),
  ].filter((warning) => warning !== null);
  const lines = removeRunningLines(pages).flatMap((page) => page.lines);
  const writer = new TextWriter();
  for (const { kind, text, ...place } of buildBlocks(lines, input.chunkCharacters)) writer.write(kind, text, place);
  const text = writer.finish();
  const boxes = boxText(text, recognition?.pages ?? new Map());
  return {
    ...text,
    ...(boxes.length > 0 && { boxes }),
    title,
    metadata,
    ...(pageWarnings.length > 0 && { warnings: pageWarnings }),
  };
}

async function openPdf(loading: Promise<Pdf>): Promise<Pdf> {
  try {
    const pdf = await loading;
    if (pdf.numPages > MAX_PAGES) throw tooLarge(`it has more than ${MAX_PAGES.toLocaleString('en')} pages`);
    return pdf;
  } catch (error) {
    if (error instanceof IngestionError) throw error;
    if (error instanceof PasswordException) {
      throw new IngestionError('encrypted_file', 'The document is protected by a password.');
    }
    throw invalidFile('The file is damaged or not a PDF.', error);
  }
}

/** Returns the lines and outcomes of pages, up to `maxPages` readable ones. Throws `invalid_file` without any. */
async function readPages(pdf: Pdf, warnings: PdfjsWarnings, maxPages = MAX_PAGES) {
  const pages: PageLines[] = [];
  const outcomes: PageOutcome[] = [];
  let characters = 0;
  let readable = 0;
  let lastError: unknown = null;
  const isForm = await hasFields(pdf);
  for (let number = 1; number <= pdf.numPages && readable < maxPages; number++) {
    warnings.take();
    try {
      const page = await pdf.getPage(number);
      const texts = await pageTexts(page, isForm);
      const lines = pageLines(page, texts);
      pages.push(lines);
      const strings = texts.map(({ str }) => str);
      outcomes.push(pageOutcome(strings, warnings.take()));
      characters += lines.lines.reduce((sum, { text }) => sum + text.length, 0);
      page.cleanup();
      readable += 1;
    } catch (error) {
      lastError = error;
      pages[number - 1] ??= { lines: [], height: 0 };
      outcomes[number - 1] ??= 'damaged';
    }
    checkTextLength(characters);
    if (number % CLEANUP_PAGES === 0) await pdf.cleanup();
  }
  if (readable === 0) throw invalidFile('None of the pages can be read: the file is damaged.', lastError);
  return { pages, outcomes };
}

/** Whether the document has a form. A damaged form does not make the pages unreadable. */
async function hasFields(pdf: Pdf): Promise<boolean> {
  const fields = await pdf.getFieldObjects().catch(() => null);
  return fields !== null;
}

async function pageTexts(page: Page, isForm: boolean): Promise<PageTextItem[]> {
  const { items } = await page.getTextContent();
  const values = isForm ? formFieldTexts(await page.getAnnotations().catch(() => [])) : [];
  return [...items, ...values]
    .slice(0, MAX_PIECES)
    .filter((item) => 'str' in item && item.str !== '') as PageTextItem[];
}

function pageLines(page: Page, texts: readonly PageTextItem[]): PageLines {
  const { transform, height } = page.getViewport({ scale: 1 });
  const pieces = texts.map((text) => toPiece(text, transform));
  return { lines: orderLines(pieces, page.pageNumber), height };
}

/** Transforms a text item to the coordinates of the displayed page. */
function toPiece(item: PageTextItem, [a = 1, b = 0, c = 0, d = 1, e = 0, f = 0]: number[]): TextPiece {
  const [ta = 1, tb = 0, , , te = 0, tf = 0] = item.transform;
  const angle = (Math.atan2(b * ta + d * tb, a * ta + c * tb) * 180) / Math.PI;
  return {
    text: item.str.trim() === '' ? ' ' : collapseSpaces(item.str),
    x: a * te + c * tf + e,
    y: b * te + d * tf + f,
    width: item.width,
    size: fontSize(item),
    angle: Number.isFinite(angle) ? angle : 0,
    isRightToLeft: item.dir === 'rtl',
  };
}

/** Font size of a text item; the average letter width when the declared size is implausible. */
export function fontSize({ str, width, height, transform: [, , tc = 0, td = 0] }: Omit<PageTextItem, 'dir'>): number {
  const size = height || Math.hypot(tc, td);
  const letter = width / Math.max(1, str.length);
  return size < MIN_HEIGHT * letter ? letter : size;
}

/** Collapses white space, but keeps a space at either end, which separates words. */
function collapseSpaces(text: string): string {
  // A soft hyphen at the end marks a broken word.
  const visible = text.endsWith('\u00ad') ? `${text.slice(0, -1)}-` : text;
  return `${/^\s/.test(visible) ? ' ' : ''}${collapseWhitespace(visible)}${/\s$/.test(visible) ? ' ' : ''}`;
}

async function readMetadata(pdf: Pdf): Promise<{ title: string | null; metadata: DocumentMetadata }> {
  try {
    const info: Record<string, unknown> = { ...(await pdf.getMetadata()).info };
    const metadata = flattenMetadata({
      author: info['Author'],
      subject: info['Subject'],
      keywords: info['Keywords'],
      created: parsePdfDate(info['CreationDate']),
      modified: parsePdfDate(info['ModDate']),
      language: info['Language'],
      pages: pdf.numPages,
    });
    return { title: normalizeTitle(info['Title']), metadata };
  } catch {
    // Damaged metadata does not make the document unreadable.
    return { title: null, metadata: { pages: pdf.numPages } };
  }
}

/** Converts a PDF date (ISO 32000-1, 7.9.4), `D:20200131120000+01'00'`, to ISO 8601; null when it is invalid. */
export function parsePdfDate(value: unknown): string | null {
  const parts = /^D?:?(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:(Z)|([-+])(\d\d)'?(\d\d)?)?/.exec(
    String(value ?? ''),
  );
  if (parts === null) return null;
  const [
    ,
    year,
    month = '01',
    day = '01',
    hour = '00',
    minute = '00',
    second = '00',
    ,
    sign,
    zoneHour = '00',
    zoneMinute = '00',
  ] = parts;
  const zone = sign === undefined ? 'Z' : `${sign}${zoneHour}:${zoneMinute}`;
  const date = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}${zone}`);
  return Number.isNaN(date.valueOf()) ? null : date.toISOString();
}
