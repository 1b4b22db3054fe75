import { parseHTML } from 'linkedom';

/** What is used of the nodes of a parsed page. */
export interface PageNode {
  /** 1 for an element, 3 for text. */
  readonly nodeType: number;
  readonly textContent: string | null;
  readonly firstChild: PageNode | null;
  readonly nextSibling: PageNode | null;
  readonly parentNode: PageNode | null;
}

/** An element of a page. */
export interface PageElement extends PageNode {
  readonly localName: string;
  readonly children: Iterable<PageElement>;
  getAttribute(name: string): string | null;
  hasAttribute(name: string): boolean;
  querySelector(selector: string): PageElement | null;
  querySelectorAll(selector: string): Iterable<PageElement>;
  remove(): void;
}

/** A parsed page. */
export interface PageDocument {
  readonly documentElement: PageElement;
  readonly body: PageElement | null;
  querySelector(selector: string): PageElement | null;
  querySelectorAll(selector: string): Iterable<PageElement>;
}

/** Tags that every page has once, and that careless ones have twice or in the wrong place. */
const FRAME_TAGS = /<\/?(?:html|head|body)(?=[\s>/])[^>]*>/gi;

/**
 * Parses a page. Text without any element is a page too, and so is one whose head and body are not where they should be. Nothing of
 * it is run or fetched. The time is linear for a page that `boundPage` has bounded.
 */
export function parseDom(html: string): PageDocument {
  if (/<(?:html|body|head)[\s>]/i.test(html)) {
    const page = parseHTML(html).document as unknown as PageDocument;
    if (isFramed(page)) return page;
  }
  const [root = '<html>'] = /<html(?=[\s>])[^>]*>/i.exec(html) ?? [];
  const body = html.replace(/^\s*<!doctype[^>]*>/i, '').replace(FRAME_TAGS, ' ');
  return parseHTML(`${root}<head></head><body>${body}</body></html>`).document as unknown as PageDocument;
}

/** Whether the page is a head and a body, once each: the parser makes an empty body of any other, and nests what comes again. */
function isFramed({ documentElement, body }: PageDocument): boolean {
  const names = [...documentElement.children].map(({ localName }) => localName.toLowerCase());
  if (documentElement.localName.toLowerCase() !== 'html' || !/^(?:head,)?body$/.test(names.join(','))) return false;
  return body?.querySelector('html, head, body') === null;
}
