import { collapseWhitespace } from '../../lib/clean-text.ts';
import { formatTableRow, type TextWriter } from '../text-writer.ts';
import { mathText } from './math-text.ts';
import type { PageDocument, PageElement, PageNode } from './parse-page.ts';

const words = (list: string): ReadonlySet<string> => new Set(list.split(' '));

/** Elements whose content is not text of the page. */
const SKIPPED = words(
  'script style noscript template svg canvas iframe object embed audio video head title meta link select option button input textarea map',
);
/** Elements within a line of text; all others start a block. */
export const INLINE: ReadonlySet<string> = words(
  'a abbr acronym b bdi bdo big br cite code data del dfn em font i img ins kbd label mark math nobr q rp rt ruby s samp small span strike strong sub sup time tt u var wbr',
);
const HEADING = /^h([1-6])$/;
/** Maximum nesting that is split into blocks; deeper elements become one text. */
const MAX_DEPTH = 400;
/** Roles of tables that only place their content. */
const LAYOUT_ROLES: ReadonlySet<string> = new Set(['presentation', 'none']);
/** Inline styles that hide an element. */
const HIDDEN = /display\s*:\s*none|visibility\s*:\s*hidden/i;

const BOILERPLATE =
  'nav, footer, aside, form, dialog, body > header, [role="navigation"], [role="banner"], [role="contentinfo"], [role="search"], [role="complementary"]';

const ELEMENT = 1;
const TEXT = 3;

/** Counts a page's elements, and computes their maximum depth and the sum of their depths. Iterative. */
export function measurePage(document: PageDocument): { elements: number; depth: number; totalDepth: number } {
  let elements = 0;
  let depth = 0;
  let totalDepth = 0;
  let current = 0;
  let node: PageNode | null = document.documentElement;
  while (node !== null) {
    if (node.nodeType === ELEMENT) {
      elements += 1;
      totalDepth += current;
      depth = Math.max(depth, current);
    }
    if (node.firstChild !== null) {
      node = node.firstChild;
      current += 1;
      continue;
    }
    while (node !== null && node.nextSibling === null) {
      node = node.parentNode;
      current -= 1;
    }
    node = node?.nextSibling ?? null;
  }
  return { elements, depth, totalDepth };
}

/** Removes navigation, footers and similar elements from a page, unless nothing would remain. */
export function removeBoilerplate(document: PageDocument): void {
  const before = document.body?.textContent?.trim().length ?? 0;
  const removed = [...document.querySelectorAll(BOILERPLATE)].filter(
    (element) => element.querySelector('h1, main') === null,
  );
  const lost = removed.reduce((sum, element) => sum + (element.textContent?.trim().length ?? 0), 0);
  if (lost >= before) return;
  for (const element of removed) element.remove();
}

/** Converts elements to blocks: headings, paragraphs, list items, tables, code. */
export class HtmlBlocks {
  readonly #writer: TextWriter;
  /** Texts of the current line; `\n` for a line break. */
  #line: string[] = [];
  /** Marker of the current list item; null outside of lists. */
  #marker: string | null = null;

  constructor(writer: TextWriter) {
    this.#writer = writer;
  }

  /** Writes the content of the element. */
  write(element: PageElement): void {
    this.#writeChildren(element, 0);
    this.#endLine();
  }

  #writeChildren(element: PageElement, depth: number): void {
    for (let child = element.firstChild; child !== null; child = child.nextSibling) {
      if (child.nodeType === TEXT) this.#line.push(child.textContent ?? '');
      else if (child.nodeType === ELEMENT) this.#writeElement(child as PageElement, depth + 1);
    }
  }

  #writeElement(element: PageElement, depth: number): void {
    const name = element.localName.toLowerCase();
    if (SKIPPED.has(name) || isHidden(element)) return;
    if (name === 'br') this.#line.push('\n');
    else if (name === 'math') this.#line.push(mathText(element));
    else if (INLINE.has(name) && depth < MAX_DEPTH) this.#writeChildren(element, depth);
    else if (INLINE.has(name)) this.#line.push(readText(element));
    else {
      this.#endLine();
      this.#writeBlock(name, element, depth);
      this.#endLine();
    }
  }

  #writeBlock(name: string, element: PageElement, depth: number): void {
    const level = HEADING.exec(name)?.[1];
    if (level !== undefined)
      this.#writer.write('heading', collapseWhitespace(readText(element)), { level: Number(level) });
    else if (name === 'pre') this.#writer.write('code', (element.textContent ?? '').replace(/^\n/, ''));
    else if (name === 'table' && isDataTable(element)) this.#writeTable(element);
    else if (name === 'ul' || name === 'ol' || name === 'menu') this.#writeList(name, element, depth);
    else if (depth >= MAX_DEPTH) this.#writer.write('paragraph', collapseWhitespace(readText(element)));
    else this.#writeChildren(element, depth);
  }

  #writeList(name: string, element: PageElement, depth: number): void {
    const outer = this.#marker;
    const indent = outer === null ? '' : ' '.repeat(outer.length);
    let number = Number(element.getAttribute('start') ?? 1) || 1;
    for (const item of element.children) {
      if (isHidden(item)) continue;
      this.#marker = `${indent}${name === 'ol' ? `${number}.` : '-'} `;
      number += 1;
      if (depth < MAX_DEPTH) this.#writeChildren(item, depth + 1);
      else this.#line.push(readText(item));
      this.#endLine();
    }
    this.#marker = outer;
  }

  #writeTable(table: PageElement): void {
    const rows = [...table.querySelectorAll('tr')].map((row) =>
      [...row.children].map((cell) => collapseWhitespace(readText(cell))),
    );
    const caption = table.querySelector('caption')?.textContent;
    if (caption) this.#writer.write('paragraph', collapseWhitespace(caption));
    const filled = rows.filter((cells) => cells.some((cell) => cell !== ''));
    this.#writer.write('table', filled.map(formatTableRow).join('\n'));
  }

  #endLine(): void {
    const text = this.#lineText();
    this.#line = [];
    if (text === '') return;
    if (this.#marker === null) {
      this.#writer.write('paragraph', text);
      return;
    }
    this.#writer.write('list-item', this.#marker + text);
    // Continuation lines of the item are indented.
    this.#marker = ' '.repeat(this.#marker.length);
  }

  /** The current line with collapsed white space and a line break for each `br`. */
  #lineText(): string {
    const lines: string[] = [''];
    for (const piece of this.#line) {
      if (piece === '\n') lines.push('');
      else lines[lines.length - 1] += piece;
    }
    return lines
      .map(collapseWhitespace)
      .filter((line) => line !== '')
      .join('\n');
  }
}

function isHidden(element: PageElement): boolean {
  return element.hasAttribute('hidden') || HIDDEN.test(element.getAttribute('style') ?? '');
}

/** All text of an element, with spaces between its blocks. Iterative. */
function readText(element: PageElement): string {
  const pieces: string[] = [];
  let node: PageNode | null = element.firstChild;
  while (node !== null && node !== element) {
    const name = node.nodeType === ELEMENT ? (node as PageElement).localName.toLowerCase() : '';
    const isSkipped = name === 'math' || SKIPPED.has(name);
    if (name === 'math') pieces.push(mathText(node as PageElement));
    else if (node.nodeType === TEXT) pieces.push(node.textContent ?? '');
    else if (name !== '' && (!INLINE.has(name) || name === 'br')) pieces.push(' ');
    if (node.firstChild !== null && !isSkipped) {
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

/**
 * Whether a table holds data. A table with header cells or a caption does, and so does one with at least two rows of
 * the same number of cells, whatever the cells contain. Layout tables contain tables or headings, or lists and
 * paragraphs in cells of their own shape.
 */
function isDataTable(table: PageElement): boolean {
  if (table.querySelector('table, h1, h2, h3, h4') !== null || LAYOUT_ROLES.has(table.getAttribute('role') ?? ''))
    return false;
  const rows = [...table.querySelectorAll('tr')].map((row) => [...row.children].length);
  if (rows.reduce((sum, cells) => sum + cells, 0) < 2) return false;
  if (table.querySelector('th, caption') !== null) return true;
  const [columns = 0] = rows;
  if (rows.length > 1 && columns > 1 && rows.every((cells) => cells === columns)) return true;
  const hasBlocks = table.querySelector('ul, ol, pre') !== null;
  return !hasBlocks && [...table.querySelectorAll('td')].every((cell) => [...cell.querySelectorAll('p')].length < 3);
}
