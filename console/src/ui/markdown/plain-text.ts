import { parseInline } from './parse-inline.ts';
import { parseBlocks } from './parse-markdown.ts';
import type { Block, Inline, SourceLine } from './syntax-tree.ts';

/** The text of Markdown in one line, without its marks. */
export const toPlainText = (markdown: string): string =>
  parseBlocks(markdown).map(blockText).join(' ').replace(/\s+/g, ' ').trim();

function blockText(block: Block): string {
  switch (block.type) {
    case 'code':
      return block.text;
    case 'quote':
      return block.blocks.map(blockText).join(' ');
    case 'list':
      return block.items.flat().map(blockText).join(' ');
    case 'table':
      return [block.head, ...block.rows].map(linesText).join(' ');
    case 'rule':
      return '';
    default:
      return linesText(block.lines);
  }
}

const linesText = (lines: readonly SourceLine[]): string => parseInline(lines).map(inlineText).join('');

function inlineText(node: Inline): string {
  if (node.type === 'break') return ' ';
  return 'children' in node ? node.children.map(inlineText).join('') : node.text;
}
