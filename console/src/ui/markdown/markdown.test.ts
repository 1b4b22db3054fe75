import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isWebAddress, parseInline } from './parse-inline.ts';
import { parseBlocks, splitBlocks } from './parse-markdown.ts';
import { toPlainText } from './plain-text.ts';
import type { Block, SourceLine } from './syntax-tree.ts';

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
/** Repeated, each makes a careless parser take quadratic time or nest without end. An array: with a start before it. */
const HOSTILE: (string | [start: string, repeated: string])[] = [
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
  '``',
  '*http://a*',
  ['~', '`'],
  [`${'['.repeat(900)}](`, ' '],
  [`${'['.repeat(900)}](http://a`, ' '],
  [`${'['.repeat(900)}](http://a`, 'b'],
  ['http://', '!'],
  ['|\n-', ' '],
];
const HOSTILE_CHARACTERS = 100_000;
/** A linear parser takes 0.2 s; quadratic time would be many seconds. */
const HOSTILE_LIMIT_MS = 3_000;

describe('Markdown of the playground', () => {
  it('as plain text has no marks', () => {
    assert.equal(
      toPlainText(`${DOCUMENT}**bold** [link](https://example.com)`),
      'Title A paragraph with code. one continued two nested a b a b 1 2 quote bold link',
    );
  });

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
    for (const hostile of HOSTILE) {
      const [start, part] = typeof hostile === 'string' ? ['', hostile] : hostile;
      const text = `${start}${part.repeat(HOSTILE_CHARACTERS / part.length)}x`;
      const startedAt = performance.now();
      splitBlocks(text);
      for (const line of parseBlocks(text).flatMap(linesOf)) parseInline([line]);
      assert.ok(performance.now() - startedAt < HOSTILE_LIMIT_MS, JSON.stringify(part + start));
    }
  });

  it('reads a run of backticks that no equal run ends as text', () => {
    const parse = (text: string) =>
      parseInline([{ text, at: 0 }]).map((node) => [node.type, 'text' in node ? node.text : '']);
    assert.deepEqual(parse('``a`b``'), [['code', 'a`b']]);
    assert.deepEqual(parse('``a`b`'), [
      ['text', '``'],
      ['text', 'a'],
      ['code', 'b'],
    ]);
    assert.deepEqual(parse('`a``'), [
      ['text', '`'],
      ['text', 'a'],
      ['text', '``'],
    ]);
  });

  it('ends links and addresses before punctuation and closing delimiters', () => {
    const parse = (text: string) =>
      JSON.stringify(parseInline([{ text, at: 0 }]), (key, value) => (key === 'at' ? undefined : value));
    const link = (href: string, text = href) => ({ type: 'link', href, children: [{ type: 'text', text }] });
    const cases: [text: string, ...nodes: object[]][] = [
      ['*http://a.b/c?d=*', { type: 'emphasis', children: [link('http://a.b/c?d=')] }],
      ['**http://a.b**c', { type: 'strong', children: [link('http://a.b')] }, { type: 'text', text: 'c' }],
      ['http://a.b!.*', link('http://a.b'), { type: 'text', text: '!.*' }],
      ['http://...', { type: 'text', text: 'http://...' }],
      ['[a](  <https://b.c/(d)>   "e" )f', link('https://b.c/(d)', 'a'), { type: 'text', text: 'f' }],
      ['[a]( )', { type: 'text', text: '[a]( )' }],
      ['[x[a](http://b)', link('http://b', 'x[a')],
    ];
    for (const [text, ...nodes] of cases) assert.equal(parse(text), JSON.stringify(nodes), text);
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
