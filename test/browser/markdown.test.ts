import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isWebAddress, parseInline } from '../../console/src/components/parse-inline.ts';
import { type Block, parseBlocks, type SourceLine, splitBlocks } from '../../console/src/components/parse-markdown.ts';

const DOCUMENT = `# Title

A *paragraph* with \`code\`.

- one

  continued
- two
  - nested

\`\`\`js
a

b
\`\`\`

| a | b |
|---|---|
| 1 | 2 |

> quote
`;
/** Repeated, each of them makes a careless parser take quadratic time or nest without end. */
const HOSTILE = [
  '*a ',
  '**a ',
  '_a ',
  '[',
  '[a](',
  '`',
  '`a``',
  '~~a ',
  '# ',
  '> ',
  '- ',
  '| ',
  '\\',
  'https://a(',
  '~',
  '***a** ',
  '\t',
];
const HOSTILE_CHARACTERS = 50_000;
/** A linear parser takes 0.1 s; quadratic time would be many seconds. */
const HOSTILE_LIMIT_MS = 3_000;

describe('Markdown of the playground', () => {
  it('splits a growing text into the blocks of the whole text', () => {
    let starts = [0];
    for (let length = 0; length <= DOCUMENT.length; length += 1) {
      const text = DOCUMENT.slice(0, length);
      starts = splitBlocks(text, starts);
      assert.deepEqual(starts, splitBlocks(text));
    }
    const parts = starts.flatMap((start, index) => parseBlocks(DOCUMENT.slice(start, starts[index + 1]), start));
    assert.deepEqual(parts, parseBlocks(DOCUMENT));
    assert.deepEqual(
      parts.map(({ type }) => type),
      ['heading', 'paragraph', 'list', 'code', 'table', 'quote'],
    );
  });

  it('gives each text its offset in the source, by which citations are marked', () => {
    const offsets: string[] = [];
    for (const { text, at } of parseBlocks(DOCUMENT).flatMap(linesOf)) {
      if (text !== '') offsets.push(DOCUMENT.slice(at, at + text.length));
      assert.equal(DOCUMENT.slice(at, at + text.length), text);
    }
    assert.ok(offsets.includes('nested'));
  });

  it('reads hostile text in linear time', () => {
    for (const part of HOSTILE) {
      const text = part.repeat(HOSTILE_CHARACTERS / part.length);
      const startedAt = performance.now();
      splitBlocks(text);
      for (const line of parseBlocks(text).flatMap(linesOf)) parseInline([line]);
      assert.ok(performance.now() - startedAt < HOSTILE_LIMIT_MS, JSON.stringify(part));
    }
  });

  it('accepts only addresses of the web', () => {
    assert.ok(isWebAddress('https://example.com/a?b=1'));
    for (const url of [
      'javascript:alert(1)',
      ' https://example.com',
      'data:text/html,x',
      '//example.com',
      'file:///a',
    ]) {
      assert.equal(isWebAddress(url), false, url);
    }
  });
});

function linesOf(block: Block): SourceLine[] {
  switch (block.type) {
    case 'paragraph':
    case 'heading':
      return block.lines;
    case 'quote':
      return block.blocks.flatMap(linesOf);
    case 'list':
      return block.items.flat().flatMap(linesOf);
    case 'table':
      return [...block.head, ...block.rows.flat()];
    default:
      return [];
  }
}
