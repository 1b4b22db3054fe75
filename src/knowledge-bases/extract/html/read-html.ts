import { Readability } from '@mozilla/readability';
import { cleanText, inOneLine } from '../../../lib/clean-text.ts';
import { MAX_WHOLE_TEXT_BYTES } from '../bounds.ts';
import { wholeContent } from '../content.ts';
import { decodeText } from '../decode.ts';
import type { ExtractedDocument, ReadJob, ReadPart } from '../extracted-document.ts';
import type { ExtractedText } from '../extracted-text.ts';
import { TextWriter } from '../text-writer.ts';
import { boundPage } from './bound-page.ts';
import { HtmlParts, pageShape, removeBoilerplate } from './html-parts.ts';
import { type PageDocument, type PageElement, parseDom } from './page-dom.ts';
import { pageFacts } from './page-facts.ts';

/** Bytes in which a page names its encoding: browsers look at 1,024 at first and read the page again when it comes later. */
const CHARSET_BYTES = 65_536;
/** Elements in each other. The parser of main contents calls itself for each. */
const MAX_DEPTH = 150;
/**
 * Elements of a page whose main content is looked for, and the sum of their depths, to which the time is proportional: more takes too long, and
 * all of the page is read. The largest of 120 test pages has 15,000 elements, with 87,000 in all.
 */
const MAX_ELEMENTS = 50_000;
const MAX_TOTAL_DEPTH = 1_000_000;
/** A main content of fewer characters than this, and of less than this share of the page, is none: the page is a list or an index. */
const SMALL_CONTENT = { characters: 500, share: 0.5 };

/** Reads HTML: the main content of a page as a reader would see it. */
export async function* readHtml(job: ReadJob): AsyncGenerator<ReadPart> {
  const bytes = await wholeContent(job, MAX_WHOLE_TEXT_BYTES);
  yield { part: '', document: parsePage(decodeText(bytes, job.charset ?? declaredCharset(bytes))) };
}

/** The encoding that a page says it has. */
function declaredCharset(bytes: Uint8Array): string | null {
  const head = Buffer.from(bytes.subarray(0, CHARSET_BYTES)).toString('latin1').replaceAll('\0', '');
  const said =
    /<meta[^>]{1,1024}charset\s*=\s*["']?\s*([\w.:-]+)|<\?xml[^>]{1,1024}encoding\s*=\s*["']([\w.:-]+)/i.exec(head);
  return said?.[1] ?? said?.[2] ?? null;
}

/**
 * The main content of a page: headings, paragraphs, lists, tables and code, of links their text only. Navigation and other boilerplate
 * is left out; where no main content can be told, everything else of the page is taken. The title stands first as a heading.
 */
export function parsePage(source: string): ExtractedDocument {
  const html = boundPage(cleanText(source));
  const document = parseDom(html);
  const facts = pageFacts(document);
  const article = isTooLarge(document) ? null : mainContent(document);
  const title = facts.title ?? (inOneLine(article?.title ?? '') || null);
  const metadata = { ...facts.metadata };
  if (metadata['author'] === undefined && article?.byline) metadata['author'] = article.byline;
  const content = article?.content;
  if (content && !isSmall(content, html)) {
    return { ...writeContent(content, article.title || title), title, metadata };
  }
  const whole = parseDom(html);
  removeBoilerplate(whole);
  return { ...writeContent(whole.body ?? whole.documentElement, null), title, metadata };
}

/** All of a page that is a part of another document: nothing of it is boilerplate. Throws `invalid_file` for what is no text. */
export function parseWholePage(bytes: Uint8Array, charset: string | null): ExtractedText {
  const page = parseDom(boundPage(cleanText(decodeText(bytes, charset ?? declaredCharset(bytes)))));
  return writeContent(page.body ?? page.documentElement, null);
}

interface Article {
  title: string;
  byline: string;
  content: PageElement | null;
}

/** Whether looking for the main content of a page would take too long. */
function isTooLarge(document: PageDocument): boolean {
  const { elements, depth, totalDepth } = pageShape(document);
  return elements > MAX_ELEMENTS || depth > MAX_DEPTH || totalDepth > MAX_TOTAL_DEPTH;
}

/** Takes the page apart. Null where nothing looks like a main content. */
function mainContent(document: PageDocument): Article | null {
  if (document.body === null) return null;
  removeBoilerplate(document);
  try {
    const article = new Readability<PageElement>(document as never, {
      serializer: (node) => node as PageElement,
    }).parse();
    if (article === null) return null;
    const byline = inOneLine(article.byline ?? '');
    return { title: inOneLine(article.title ?? ''), byline, content: article.content ?? null };
  } catch {
    // It asks much of a page's structure; what it breaks on is read as a whole.
    return null;
  }
}

function isSmall(content: PageElement, html: string): boolean {
  const length = inOneLine(content.textContent ?? '').length;
  if (length >= SMALL_CONTENT.characters) return false;
  const document = parseDom(html);
  removeBoilerplate(document);
  return length < SMALL_CONTENT.share * inOneLine(document.body?.textContent ?? '').length;
}

function writeContent(content: PageElement, title: string | null) {
  const writer = new TextWriter();
  const parts = new HtmlParts(writer);
  if (title !== null && title !== '' && !beginsWith(content, title)) writer.write('heading', title, { level: 1 });
  parts.write(content);
  return writer.finish();
}

/** Whether the content has the title as a heading of its own. */
function beginsWith(content: PageElement, title: string): boolean {
  const heading = content.querySelector('h1, h2');
  return heading !== null && inOneLine(heading.textContent ?? '').toLowerCase() === title.toLowerCase();
}
