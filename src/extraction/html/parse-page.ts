import { parseHTML } from 'linkedom';

/** The used part of a DOM node. */
export interface PageNode {
  /** 1 for an element, 3 for text. */
  readonly nodeType: number;
  readonly textContent: string | null;
  readonly firstChild: PageNode | null;
  readonly nextSibling: PageNode | null;
  readonly parentNode: PageNode | null;
}

/** The used part of a DOM element. */
export interface PageElement extends PageNode {
  readonly localName: string;
  readonly children: Iterable<PageElement>;
  getAttribute(name: string): string | null;
  hasAttribute(name: string): boolean;
  querySelector(selector: string): PageElement | null;
  querySelectorAll(selector: string): Iterable<PageElement>;
  remove(): void;
}

/** The used part of a DOM document. */
export interface PageDocument {
  readonly documentElement: PageElement;
  readonly body: PageElement | null;
  querySelector(selector: string): PageElement | null;
  querySelectorAll(selector: string): Iterable<PageElement>;
}

/** Tags that a page has once, and that malformed pages repeat or misplace. */
const FRAME_TAGS = /<\/?(?:html|head|body)(?=[\s>/])[^>]*>/gi;

/**
 * Parses HTML; also plain text and pages with misplaced head and body tags. Runs and fetches nothing. Takes linear time
 * for the output of `limitNesting`.
 */
export function parsePage(html: string): PageDocument {
  if (/<(?:html|body|head)[\s>]/i.test(html)) {
    const page = parseHTML(html).document as unknown as PageDocument;
    if (isWellFormed(page)) return page;
  }
  const [root = '<html>'] = /<html(?=[\s>])[^>]*>/i.exec(html) ?? [];
  const body = html.replace(/^\s*<!doctype[^>]*>/i, '').replace(FRAME_TAGS, ' ');
  return parseHTML(`${root}<head></head><body>${body}</body></html>`).document as unknown as PageDocument;
}

/** Whether the page has one head and one body. The parser empties the body of other pages, and nests repeated tags. */
function isWellFormed({ documentElement, body }: PageDocument): boolean {
  const names = [...documentElement.children].map(({ localName }) => localName.toLowerCase());
  if (documentElement.localName.toLowerCase() !== 'html' || !/^(?:head,)?body$/.test(names.join(','))) return false;
  return body?.querySelector('html, head, body') === null;
}
