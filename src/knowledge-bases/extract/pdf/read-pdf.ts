import { inOneLine } from '../../../lib/clean-text.ts';
import type { DocumentMetadata } from '../../documents/metadata.ts';
import { IngestionError } from '../../jobs/job-error.ts';
import { invalidFile, MAX_PAGES, MAX_PDF_BYTES, noText, tooLarge } from '../bounds.ts';
import { wholeContent } from '../content.ts';
import type { ExtractedDocument, ReadJob, ReadPart } from '../extracted-document.ts';
import { flatMetadata, titleOf } from '../metadata.ts';
import { requireLength, TextWriter } from '../text-writer.ts';
import { readingOrder } from './columns.ts';
import { fieldTexts } from './form-fields.ts';
import { linesOf } from './lines.ts';
import { missingText, type PageOutcome, pageOutcome } from './missing-text.ts';
import { byDirection, fragmentsOf, type TextLine, type TextPiece } from './page-text.ts';
import { partsOf } from './paragraphs.ts';
import { CMAPS, getDocument, PasswordException, PdfjsWarnings, VerbosityLevel } from './pdfjs.ts';
import { type PageLines, withoutRunningLines } from './running-lines.ts';

type Pdf = Awaited<ReturnType<typeof getDocument>['promise']>;
type Page = Awaited<ReturnType<Pdf['getPage']>>;

/** A text of pdf.js, as far as it is used. */
interface PageTextItem {
  str: string;
  dir: string;
  width: number;
  height: number;
  transform: number[];
}

/** Pages after which the fonts that were loaded for them are let go. */
const CLEANUP_PAGES = 50;
/** Pieces of text on a page: a full page of a newspaper has some 10,000. What comes after them is left out. */
const MAX_PIECES = 200_000;
/** Height of letters below which it is wrong (fonts whose glyphs are drawings may say anything), in widths of the same text's letters. */
const MIN_HEIGHT = 0.2;

/**
 * Reads a PDF: text in the order of reading, columns one after the other, without running headers and footers, its words whole again
 * where a line's end broke them, with what the fields of a form hold. Throws `encrypted_file` for one that needs a password, `no_text` for scans, `too_large` for too many pages.
 */
export async function* readPdf(job: ReadJob): AsyncGenerator<ReadPart> {
  const data = new Uint8Array(await wholeContent(job, MAX_PDF_BYTES));
  const warnings = new PdfjsWarnings();
  const loading = getDocument({
    ...CMAPS,
    data,
    verbosity: VerbosityLevel.WARNINGS,
    disableFontFace: true,
    useSystemFonts: false,
    stopAtErrors: false,
  });
  let document: ExtractedDocument;
  try {
    document = await documentOf(await opened(loading.promise), warnings);
  } finally {
    await loading.destroy();
    warnings.stop();
  }
  yield { part: '', document };
}

async function documentOf(pdf: Pdf, warnings: PdfjsWarnings): Promise<ExtractedDocument> {
  const { title, metadata } = await factsOf(pdf);
  const { pages, outcomes } = await pagesOf(pdf, warnings);
  if (pages.every(({ lines }) => lines.length === 0)) {
    throw noText('No page has text: they are pictures, such as scans, or empty.');
  }
  const warning = missingText(outcomes);
  const lines = withoutRunningLines(pages).flatMap((page) => page.lines);
  const writer = new TextWriter();
  for (const { kind, text, ...place } of partsOf(lines)) writer.write(kind, text, place);
  return { ...writer.finish(), title, metadata, ...(warning && { warnings: [warning] }) };
}

async function opened(loading: Promise<Pdf>): Promise<Pdf> {
  try {
    const pdf = await loading;
    if (pdf.numPages > MAX_PAGES) throw tooLarge(`it has more than ${MAX_PAGES.toLocaleString('en')} pages`);
    return pdf;
  } catch (error) {
    if (error instanceof IngestionError) throw error;
    if (error instanceof PasswordException) {
      throw new IngestionError('encrypted_file', 'The document is protected by a password.');
    }
    throw invalidFile('The file is damaged, or no PDF.', error);
  }
}

/** The lines of each page that can be read, and what came of every page. When none can be read, the file is damaged. */
async function pagesOf(pdf: Pdf, warnings: PdfjsWarnings) {
  const pages: PageLines[] = [];
  const outcomes: PageOutcome[] = [];
  let characters = 0;
  let problem: unknown = null;
  const isForm = await hasFields(pdf);
  for (let number = 1; number <= pdf.numPages; number++) {
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
    } catch (error) {
      problem = error;
      outcomes.push('damaged');
    }
    requireLength(characters);
    if (number % CLEANUP_PAGES === 0) await pdf.cleanup();
  }
  if (pages.length === 0) throw invalidFile('None of the pages can be read: the file is damaged.', problem);
  return { pages, outcomes };
}

// A form that is damaged does not make its pages unreadable.
async function hasFields(pdf: Pdf): Promise<boolean> {
  const fields = await pdf.getFieldObjects().catch(() => null);
  return fields !== null;
}

async function pageTexts(page: Page, isForm: boolean): Promise<PageTextItem[]> {
  const { items } = await page.getTextContent();
  const values = isForm ? fieldTexts(await page.getAnnotations().catch(() => [])) : [];
  return [...items, ...values]
    .slice(0, MAX_PIECES)
    .filter((item) => 'str' in item && item.str !== '') as PageTextItem[];
}

function pageLines(page: Page, texts: readonly PageTextItem[]): PageLines {
  const { transform, height } = page.getViewport({ scale: 1 });
  const pieces = texts.map((text) => pieceOf(text, transform));
  const lines: TextLine[] = [];
  for (const [rank, group] of byDirection(pieces).entries()) {
    for (const region of readingOrder(fragmentsOf(group))) {
      const column = (lines.at(-1)?.column ?? 0) + 1;
      lines.push(
        ...linesOf(region, { page: page.pageNumber, column, isTurned: rank > 0 }).filter(({ text }) => text !== ''),
      );
    }
  }
  return { lines, height };
}

/** A piece as pdf.js gives it, with its place on the page as it is shown. */
function pieceOf(item: PageTextItem, [a = 1, b = 0, c = 0, d = 1, e = 0, f = 0]: number[]): TextPiece {
  const [ta = 1, tb = 0, , , te = 0, tf = 0] = item.transform;
  const angle = (Math.atan2(b * ta + d * tb, a * ta + c * tb) * 180) / Math.PI;
  return {
    text: item.str.trim() === '' ? ' ' : inOneLineKeepingEnds(item.str),
    x: a * te + c * tf + e,
    y: b * te + d * tf + f,
    width: item.width,
    size: letterSize(item),
    angle: Number.isFinite(angle) ? angle : 0,
    isRightToLeft: item.dir === 'rtl',
  };
}

/** The size of a text's letters; their mean width where its height cannot be right. */
export function letterSize({ str, width, height, transform: [, , tc = 0, td = 0] }: Omit<PageTextItem, 'dir'>): number {
  const size = height || Math.hypot(tc, td);
  const letter = width / Math.max(1, str.length);
  return size < MIN_HEIGHT * letter ? letter : size;
}

/** Clean, with the space at its ends that says that a word ends there. */
function inOneLineKeepingEnds(text: string): string {
  // A soft hyphen at the end is where a word was broken.
  const kept = text.endsWith('\u00ad') ? `${text.slice(0, -1)}-` : text;
  return `${/^\s/.test(kept) ? ' ' : ''}${inOneLine(kept)}${/\s$/.test(kept) ? ' ' : ''}`;
}

async function factsOf(pdf: Pdf): Promise<{ title: string | null; metadata: DocumentMetadata }> {
  try {
    const info: Record<string, unknown> = { ...(await pdf.getMetadata()).info };
    const metadata = flatMetadata({
      author: info['Author'],
      subject: info['Subject'],
      keywords: info['Keywords'],
      created: dateOf(info['CreationDate']),
      modified: dateOf(info['ModDate']),
      language: info['Language'],
      pages: pdf.numPages,
    });
    return { title: titleOf(info['Title']), metadata };
  } catch {
    // A document is read whatever is wrong with what it says of itself.
    return { title: null, metadata: { pages: pdf.numPages } };
  }
}

/** A date of PDF (ISO 32000-1, 7.9.4), `D:20200131120000+01'00'`, as ISO 8601; null for what is none. */
export function dateOf(value: unknown): string | null {
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
