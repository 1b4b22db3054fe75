import { Readability } from '@mozilla/readability';
import { cleanText, collapseWhitespace } from '../../lib/clean-text.ts';
import { readAllBytes } from '../content.ts';
import { decodeText } from '../decode.ts';
import type { ExtractedDocument, ExtractedText, Extraction, ReaderInput } from '../extracted-document.ts';
import { MAX_WHOLE_TEXT_BYTES } from '../limits.ts';
import { TextWriter } from '../text-writer.ts';
import { HtmlBlocks, measurePage, removeBoilerplate } from './html-blocks.ts';
import { limitNesting } from './limit-nesting.ts';
import { removePageControls } from './page-controls.ts';
import { pageMetadata } from './page-metadata.ts';
import { type PageDocument, type PageElement, parsePage } from './parse-page.ts';

/** Bytes in which a charset declaration is searched. Browsers first scan 1,024, and restart when it comes later. */
const CHARSET_BYTES = 65_536;
/** Maximum nesting for Readability, which is recursive. */
const MAX_DEPTH = 150;
/**
 * Maximum elements, and maximum sum of their depths, for Readability, whose time is proportional to the latter. Larger
 * pages are read whole. The largest of 120 test pages has 15,000 elements with a sum of 87,000.
 */
const MAX_ELEMENTS = 50_000;
const MAX_TOTAL_DEPTH = 1_000_000;
/** Main content below both limits is ignored: the page is a list or an index. */
const SMALL_CONTENT = { characters: 500, share: 0.5 };

/** Reads the main content of an HTML page. */
export async function* readHtml(input: ReaderInput): AsyncGenerator<Extraction> {
  const bytes = await readAllBytes(input, MAX_WHOLE_TEXT_BYTES);
  yield { part: '', document: extractMainContent(decodeText(bytes, input.charset ?? declaredCharset(bytes))) };
}

/** Returns the charset that a page declares in a `meta` element or XML declaration; null without one. */
function declaredCharset(bytes: Uint8Array): string | null {
  const head = Buffer.from(bytes.subarray(0, CHARSET_BYTES)).toString('latin1').replaceAll('\0', '');
  const declared =
    /<meta[^>]{1,1024}charset\s*=\s*["']?\s*([\w.:-]+)|<\?xml[^>]{1,1024}encoding\s*=\s*["']([\w.:-]+)/i.exec(head);
  return declared?.[1] ?? declared?.[2] ?? null;
}

/**
 * Extracts the main content of a page: headings, paragraphs, lists, tables and code; of links their text only. The
 * title comes first as a heading. When no main content is found, returns the whole page without navigation.
 */
export function extractMainContent(source: string): ExtractedDocument {
  const html = limitNesting(cleanText(source));
  const document = parsePage(html);
  removePageControls(document);
  const own = pageMetadata(document);
  const article = isTooLarge(document) ? null : findArticle(document);
  const title = own.title ?? (collapseWhitespace(article?.title ?? '') || null);
  const metadata = { ...own.metadata };
  if (metadata['author'] === undefined && article?.byline) metadata['author'] = article.byline;
  const content = article?.content;
  if (content && textLength(content) >= SMALL_CONTENT.characters) {
    return { ...writeContent(content, article.title || title), title, metadata };
  }
  const page = parsePage(html);
  removePageControls(page);
  removeBoilerplate(page);
  const body = page.body ?? page.documentElement;
  const isMain = content && textLength(content) >= SMALL_CONTENT.share * textLength(body);
  return { ...(isMain ? writeContent(content, article.title || title) : writeContent(body, null)), title, metadata };
}

/** Extracts a whole page that is embedded in another document. Throws `invalid_file` for binary content. */
export function parseWholePage(bytes: Uint8Array, charset: string | null): ExtractedText {
  const page = parsePage(limitNesting(cleanText(decodeText(bytes, charset ?? declaredCharset(bytes)))));
  return writeContent(page.body ?? page.documentElement, null);
}

interface Article {
  title: string;
  byline: string;
  content: PageElement | null;
}

/** Whether a page exceeds the limits for Readability. */
function isTooLarge(document: PageDocument): boolean {
  const { elements, depth, totalDepth } = measurePage(document);
  return elements > MAX_ELEMENTS || depth > MAX_DEPTH || totalDepth > MAX_TOTAL_DEPTH;
}

/** Finds the main content with Readability, which modifies the page. Null when there is none. */
function findArticle(document: PageDocument): Article | null {
  if (document.body === null) return null;
  removeBoilerplate(document);
  try {
    const article = new Readability<PageElement>(document as never, {
      serializer: (node) => node as PageElement,
    }).parse();
    if (article === null) return null;
    const byline = collapseWhitespace(article.byline ?? '');
    return { title: collapseWhitespace(article.title ?? ''), byline, content: article.content ?? null };
  } catch {
    // Readability fails on some malformed pages, which are then read whole.
    return null;
  }
}

function textLength(element: PageElement): number {
  return collapseWhitespace(element.textContent ?? '').length;
}

function writeContent(content: PageElement, title: string | null) {
  const writer = new TextWriter();
  const blocks = new HtmlBlocks(writer);
  if (title !== null && title !== '' && !hasTitle(content, title)) writer.write('heading', title, { level: 1 });
  blocks.write(content);
  return writer.finish();
}

/** Whether the first heading of the content is the title. */
function hasTitle(content: PageElement, title: string): boolean {
  const heading = content.querySelector('h1, h2');
  return heading !== null && collapseWhitespace(heading.textContent ?? '').toLowerCase() === title.toLowerCase();
}
