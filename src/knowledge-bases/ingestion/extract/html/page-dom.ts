import { Parser } from 'htmlparser2';
import { parseHTML } from 'linkedom';
import { tooLarge } from '../bounds.ts';

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
  getElementsByTagName(name: string): { readonly length: number };
}

/** Attributes of one tag. The parser's time grows with the square of them; pages have tens, and a few have hundreds. */
const MAX_ATTRIBUTES = 10_000;
/** Characters of a page in which so many attributes are counted: in fewer, they take a second at the most. */
const COUNTED_CHARACTERS = 100_000;

/** Tags that every page has once, and that careless ones have twice or in the wrong place. */
const FRAME_TAGS = /<\/?(?:html|head|body)(?=[\s>/])[^>]*>/gi;

/**
 * Parses a page. Text without any element is a page too, and so is one whose head and body are not where they should be. Nothing of
 * it is run or fetched. Throws `too_large` for a tag of more attributes than a tag may have.
 */
export function parseDom(html: string): PageDocument {
  if (html.length > COUNTED_CHARACTERS) requireFewAttributes(html);
  if (/<(?:html|body|head)[\s>]/i.test(html)) {
    const page = parseHTML(html).document as unknown as PageDocument;
    if (isFramed(page)) return page;
  }
  const [root = '<html>'] = /<html(?=[\s>])[^>]*>/i.exec(html) ?? [];
  const body = html.replace(/^\s*<!doctype[^>]*>/i, '').replace(FRAME_TAGS, ' ');
  return parseHTML(`${root}<head></head><body>${body}</body></html>`).document as unknown as PageDocument;
}

/** Whether the page is a head and a body: the parser makes an empty body of any other. */
function isFramed({ documentElement }: PageDocument): boolean {
  const names = [...documentElement.children].map(({ localName }) => localName.toLowerCase());
  return documentElement.localName.toLowerCase() === 'html' && /^(?:head,)?body$/.test(names.join(','));
}

function requireFewAttributes(html: string): void {
  let count = 0;
  const parser = new Parser({
    onopentagname: () => {
      count = 0;
    },
    onattribute: () => {
      count += 1;
      if (count > MAX_ATTRIBUTES) {
        throw tooLarge(`a tag of it has more than ${MAX_ATTRIBUTES.toLocaleString('en')} attributes`);
      }
    },
  });
  parser.end(html);
}
