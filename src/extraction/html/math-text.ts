import type { PageElement, PageNode } from './parse-page.ts';

const ELEMENT = 1;
const TEXT = 3;
/** Elements that repeat a formula in another notation, or show nothing. */
const SKIPPED: ReadonlySet<string> = new Set(['annotation', 'annotation-xml', 'mphantom', 'mspace']);
/** Signs between the parts of an element, as plain-text formulas write them. */
const SEPARATORS: Readonly<Record<string, readonly string[]>> = {
  mfrac: ['/'],
  msup: ['^'],
  mover: ['^'],
  msub: ['_'],
  munder: ['_'],
  msubsup: ['_', '^'],
  munderover: ['_', '^'],
};

/** The text of a MathML formula in one line: `A = π r^2`, `(a + b)/2`, `√(x)`. Nesting is bounded by `limitNesting`. */
export function mathText(math: PageElement): string {
  return writeMath(math).replace(/\s+/g, ' ').trim();
}

function writeMath(node: PageNode): string {
  if (node.nodeType === TEXT) return (node.textContent ?? '').trim();
  if (node.nodeType !== ELEMENT) return '';
  const name = (node as PageElement).localName.toLowerCase();
  if (SKIPPED.has(name)) return '';
  const parts: string[] = [];
  for (let child = node.firstChild; child !== null; child = child.nextSibling) {
    const part = writeMath(child);
    if (part !== '') parts.push(part);
  }
  if (name === 'mo') return ` ${parts.join('')} `;
  if (name === 'msqrt') return `√(${parts.join(' ').trim()})`;
  if (name === 'mfenced') return `(${parts.join(', ').trim()})`;
  if (name === 'mroot') return `root(${parts.map((part) => part.trim()).join(', ')})`;
  if (name === 'mtr' || name === 'mlabeledtr') return `${parts.join(', ')}; `;
  const separators = SEPARATORS[name];
  if (separators === undefined) return parts.join(name === 'mn' || name === 'mi' || name === 'mtext' ? '' : ' ');
  return parts.map((part, i) => (i === 0 ? '' : (separators[i - 1] ?? ' ')) + grouped(part)).join('');
}

/** A part of a fraction or a power: in parentheses when it consists of several. */
function grouped(part: string): string {
  const text = part.trim();
  return /\s/.test(text) ? `(${text})` : text;
}
