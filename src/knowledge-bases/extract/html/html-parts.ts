import { inOneLine } from '../../../lib/clean-text.ts';
import { type TextWriter, tableLine } from '../text-writer.ts';
import type { PageDocument, PageElement, PageNode } from './page-dom.ts';

const words = (list: string): ReadonlySet<string> => new Set(list.split(' '));

/** Elements that are never text. */
const UNREAD = words(
  'script style noscript template svg canvas iframe object embed audio video head title meta link select option button input textarea map math-ml',
);
/** Elements that stand in lines of text; all others are parts of their own. */
export const INLINE: ReadonlySet<string> = words(
  'a abbr acronym b bdi bdo big br cite code data del dfn em font i img ins kbd label mark math nobr q rp rt ruby s samp small span strike strong sub sup time tt u var wbr',
);
const HEADING = /^h([1-6])$/;
/** Elements in each other that are taken apart; what lies deeper is one text. */
const MAX_DEPTH = 400;
/** Of an element: it is shown to nobody. */
const HIDDEN = /display\s*:\s*none|visibility\s*:\s*hidden/i;

const BOILERPLATE =
  'nav, footer, aside, form, dialog, body > header, [role="navigation"], [role="banner"], [role="contentinfo"], [role="search"], [role="complementary"]';

const ELEMENT = 1;
const TEXT = 3;

/** How many elements a page has, how many of them lie in each other at the most, and the sum of their depths. Computed without recursion. */
export function pageShape(document: PageDocument): { elements: number; depth: number; totalDepth: number } {
  let elements = 0;
  let depth = 0;
  let totalDepth = 0;
  let deep = 0;
  let node: PageNode | null = document.documentElement;
  while (node !== null) {
    if (node.nodeType === ELEMENT) {
      elements += 1;
      totalDepth += deep;
      depth = Math.max(depth, deep);
    }
    if (node.firstChild !== null) {
      node = node.firstChild;
      deep += 1;
      continue;
    }
    while (node !== null && node.nextSibling === null) {
      node = node.parentNode;
      deep -= 1;
    }
    node = node?.nextSibling ?? null;
  }
  return { elements, depth, totalDepth };
}

/** Takes what surrounds the content of a page out of it, unless nothing would be left. */
export function removeBoilerplate(document: PageDocument): void {
  const before = document.body?.textContent?.trim().length ?? 0;
  const removed = [...document.querySelectorAll(BOILERPLATE)].filter(
    (element) => element.querySelector('h1, main') === null,
  );
  const lost = removed.reduce((sum, element) => sum + (element.textContent?.trim().length ?? 0), 0);
  if (lost >= before) return;
  for (const element of removed) element.remove();
}

/** Writes the parts of an element: headings, paragraphs, lists, tables, code. */
export class HtmlParts {
  readonly #writer: TextWriter;
  /** The line of text that is open. */
  #open: string[] = [];
  /** What the open text is an item of, with its sign; null outside of lists. */
  #sign: string | null = null;

  constructor(writer: TextWriter) {
    this.#writer = writer;
  }

  /** Writes everything within the element. */
  write(element: PageElement): void {
    this.#children(element, 0);
    this.#close();
  }

  #children(element: PageElement, depth: number): void {
    for (let child = element.firstChild; child !== null; child = child.nextSibling) {
      if (child.nodeType === TEXT) this.#open.push(child.textContent ?? '');
      else if (child.nodeType === ELEMENT) this.#element(child as PageElement, depth + 1);
    }
  }

  #element(element: PageElement, depth: number): void {
    const name = element.localName.toLowerCase();
    if (UNREAD.has(name) || isHidden(element)) return;
    if (name === 'br') this.#open.push('\n');
    else if (INLINE.has(name) && depth < MAX_DEPTH) this.#children(element, depth);
    else if (INLINE.has(name)) this.#open.push(textOf(element));
    else {
      this.#close();
      this.#part(name, element, depth);
      this.#close();
    }
  }

  #part(name: string, element: PageElement, depth: number): void {
    const level = HEADING.exec(name)?.[1];
    if (level !== undefined)
      this.#writer.write('heading', inOneLine(element.textContent ?? ''), { level: Number(level) });
    else if (name === 'pre') this.#writer.write('code', (element.textContent ?? '').replace(/^\n/, ''));
    else if (name === 'table' && isData(element)) this.#table(element);
    else if (name === 'ul' || name === 'ol' || name === 'menu') this.#list(name, element, depth);
    else if (depth >= MAX_DEPTH) this.#writer.write('paragraph', inOneLine(textOf(element)));
    else this.#children(element, depth);
  }

  #list(name: string, element: PageElement, depth: number): void {
    const outer = this.#sign;
    const indent = outer === null ? '' : ' '.repeat(outer.length);
    let number = Number(element.getAttribute('start') ?? 1) || 1;
    for (const item of element.children) {
      if (isHidden(item)) continue;
      this.#sign = `${indent}${name === 'ol' ? `${number}.` : '-'} `;
      number += 1;
      if (depth < MAX_DEPTH) this.#children(item, depth + 1);
      else this.#open.push(textOf(item));
      this.#close();
    }
    this.#sign = outer;
  }

  #table(table: PageElement): void {
    const rows = [...table.querySelectorAll('tr')].map((row) =>
      [...row.children].map((cell) => inOneLine(textOf(cell))),
    );
    const caption = table.querySelector('caption')?.textContent;
    if (caption) this.#writer.write('paragraph', inOneLine(caption));
    const filled = rows.filter((cells) => cells.some((cell) => cell !== ''));
    this.#writer.write('table', filled.map(tableLine).join('\n'));
  }

  #close(): void {
    const text = this.#lines();
    this.#open = [];
    if (text === '') return;
    if (this.#sign === null) {
      this.#writer.write('paragraph', text);
      return;
    }
    this.#writer.write('list-item', this.#sign + text);
    // What goes on in the same item stands under it.
    this.#sign = ' '.repeat(this.#sign.length);
  }

  /** The open text: white space as HTML shows it, a line break for each `br`. */
  #lines(): string {
    const lines: string[] = [''];
    for (const piece of this.#open) {
      if (piece === '\n') lines.push('');
      else lines[lines.length - 1] += piece;
    }
    return lines
      .map(inOneLine)
      .filter((line) => line !== '')
      .join('\n');
  }
}

function isHidden(element: PageElement): boolean {
  return element.hasAttribute('hidden') || HIDDEN.test(element.getAttribute('style') ?? '');
}

/** All text in an element, a space between its parts. */
function textOf(element: PageElement): string {
  const pieces: string[] = [];
  let node: PageNode | null = element.firstChild;
  while (node !== null && node !== element) {
    const isUnread = node.nodeType === ELEMENT && UNREAD.has((node as PageElement).localName.toLowerCase());
    if (node.nodeType === TEXT) pieces.push(node.textContent ?? '');
    else if (node.nodeType === ELEMENT && !INLINE.has((node as PageElement).localName.toLowerCase())) pieces.push(' ');
    else if (node.nodeType === ELEMENT && (node as PageElement).localName === 'br') pieces.push(' ');
    if (node.firstChild !== null && !isUnread) {
      node = node.firstChild;
      continue;
    }
    while (node !== null && node !== element && node.nextSibling === null) {
      node = node.parentNode;
      pieces.push(node !== null && node.nodeType === ELEMENT && INLINE.has((node as PageElement).localName) ? '' : ' ');
    }
    if (node === null || node === element) break;
    node = node.nextSibling;
  }
  return pieces.join('');
}

/** Whether a table holds data and is not there to lay a page out: no table, list, heading or more than one paragraph in a cell. */
function isData(table: PageElement): boolean {
  if (table.querySelector('table, ul, ol, pre, h1, h2, h3, h4') !== null) return false;
  const cells = [...table.querySelectorAll('td, th')];
  return cells.length > 1 && cells.every((cell) => [...cell.querySelectorAll('p')].length < 3);
}
