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
  getElementsByTagName(name: string): { readonly length: number };
}

/** Parses a page. Text without any element is a page too. Nothing of it is run or fetched. */
export function parseDom(html: string): PageDocument {
  const page = /<(?:html|body|head|frameset)[\s>]/i.test(html) ? html : `<html><body>${html}</body></html>`;
  return parseHTML(page).document as unknown as PageDocument;
}
