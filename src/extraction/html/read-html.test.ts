import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ExtractedDocument } from '../extracted-document.ts';
import { readDocument } from '../read-document.ts';
import { extractMainContent } from './read-html.ts';

const blocksOf = ({ text, blocks }: ExtractedDocument) =>
  blocks.map(({ kind, level, start, end }) => `${kind}${level ?? ''}: ${text.slice(start, end)}`);
const SENTENCE = 'A sentence of the article that says something, at some length, about tides, the sea, and the moon. ';
const page = (
  main: string,
  head = '',
) => `<!doctype html><html lang="en"><head><title>On tides - The Site</title>${head}</head><body>
  <nav><ul><li><a href="/">Home</a></li><li><a href="/all">All articles</a></li></ul></nav>
  <div class="sidebar"><a href="/x">Ten things you must buy</a></div>
  <main><article><h1>On tides</h1>${main}</article></main>
  <footer>Copyright, imprint, cookies</footer><script>var hidden = 'script text';</script></body></html>`;

describe('readHtml', () => {
  it('extracts the main content without navigation', () => {
    const document = extractMainContent(page(`<p>${SENTENCE.repeat(8)}</p><p>${SENTENCE.repeat(8)}</p>`));
    assert.equal(document.text.match(/tides, the sea/g)?.length, 16);
    for (const gone of ['Home', 'Ten things', 'imprint', 'script text']) assert.ok(!document.text.includes(gone), gone);
  });

  it('keeps headings, lists, tables, code, line breaks and the text of links', () => {
    const main = `<p>${SENTENCE.repeat(10)}</p><h2>Data</h2><p>See <a href="/x">the <b>table</b></a>:<br>below.</p>
      <ul><li>one<ul><li>inner</li></ul></li><li><p>two</p></li></ul><ol start="3"><li>three</li></ol>
      <table><tr><th>Port</th><th>Height</th></tr><tr><td>Brest</td><td>7 m</td></tr></table><pre><code>if (x) {
  y();
}</code></pre><p>${SENTENCE.repeat(10)}</p>`;
    const blocks = blocksOf(extractMainContent(page(main)));
    assert.deepEqual(blocks.slice(blocks.indexOf('heading2: Data'), -1), [
      'heading2: Data',
      'paragraph: See the table:\nbelow.',
      'list-item: - one',
      'list-item:   - inner',
      'list-item: - two',
      'list-item: 3. three',
      'table: Port | Height\nBrest | 7 m',
      'code: if (x) {\n  y();\n}',
    ]);
  });

  it('keeps the rows of tables whose cells hold lists, paragraphs or divisions', () => {
    const rows = `<tr><th>Port</th><th>Ships</th></tr><tr><td><div>Brest</div><div>France</div></td><td><ul><li>one</li><li>two</li></ul></td></tr>`;
    const plain = '<tr><td><div>Oban</div></td><td><p>a</p><p>b</p><p>c</p></td></tr>';
    const blocks = blocksOf(
      extractMainContent(`<h1>Ports</h1><table>${rows}</table><table>${plain.repeat(2)}</table>`),
    );
    assert.deepEqual(blocks.slice(1), [
      'table: Port | Ships\nBrest France | one two',
      'table: Oban | a b c\nOban | a b c',
    ]);
    const layout = '<table><tr><td><ul><li>Home</li></ul></td><td><p>Text.</p></td></tr><tr><td>End</td></tr></table>';
    assert.deepEqual(blocksOf(extractMainContent(layout)), ['list-item: - Home', 'paragraph: Text.', 'paragraph: End']);
    const placed = `<table role="presentation">${plain.repeat(2)}</table>`;
    assert.ok(!blocksOf(extractMainContent(placed)).some((block) => block.startsWith('table')));
  });

  it('leaves permalink signs and links that edit the page out of headings and text', () => {
    const link = (text: string, href = '#x') => `<a class="headerlink" href="${href}">${text}</a>`;
    const html = `<h1>Tides${link('¶')}</h1>${link('Edit this page', '/edit')}<h2>Sea ${link('#')}</h2><p>In C${'#'} see ${link('section 2')} and ${link('View page source', '/s')}.</p><h3>Moon${link('&#8203;')}</h3><p>${link('How to edit this page in a browser', '/how')}</p>`;
    assert.deepEqual(blocksOf(extractMainContent(html)), [
      'heading2: Tides',
      'heading2: Sea',
      'paragraph: In C# see section 2 and .',
      'heading3: Moon',
      'paragraph: How to edit this page in a browser',
    ]);
  });

  it('keeps the text of MathML formulas in their line, without their TeX source', () => {
    const power = '<msup><mi>r</mi><mn>2</mn></msup>';
    const source = `<math><semantics><mrow><mi>A</mi><mo>=</mo><mi>π</mi>${power}</mrow><annotation>A=\\pi r^2</annotation></semantics></math>`;
    const half = '<math display="block"><mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>2</mn></mfrac></math>';
    const cell = `<table><tr><td>Area</td><td>${source}</td></tr><tr><td>Root</td><td><math><msqrt><mi>x</mi></msqrt></math></td></tr></table>`;
    const { text } = extractMainContent(`<h2>On ${source}</h2><p>The area ${source} and ${half}.</p>${cell}`);
    assert.equal(text, 'On A = π r^2\n\nThe area A = π r^2 and (a + b)/2.\n\nArea | A = π r^2\nRoot | √(x)');
  });

  it('reads a page without main content whole, except boilerplate', () => {
    const document = extractMainContent(
      '<title>List</title><nav>Menu</nav><h1>All</h1><div>One entry</div><div hidden>No</div><div>Two</div>',
    );
    assert.equal(document.text, 'List\n\nAll\n\nOne entry\n\nTwo');
    assert.equal(document.title, 'List');
  });

  it('returns description, author, dates and canonical URL as metadata', () => {
    const head = `<meta name="description" content="About tides"><meta property="article:published_time" content="2024-01-31">
      <meta name="author" content="Ann"><meta name="keywords" content="sea, moon"><link rel="canonical" href="https://example.org/tides">`;
    const { metadata, title } = extractMainContent(page(`<p>${SENTENCE.repeat(10)}</p>`, head));
    assert.equal(title, 'On tides - The Site');
    assert.deepEqual(metadata, {
      description: 'About tides',
      author: 'Ann',
      published: '2024-01-31',
      keywords: ['sea', 'moon'],
      language: 'en',
      canonical_url: 'https://example.org/tides',
    });
  });

  it('decodes by declared charset, server charset or detection', async () => {
    const read = async (bytes: Uint8Array, charset: string | null) => {
      const [part] = await Array.fromAsync(
        readDocument('html', { content: bytes, bytes: bytes.length, charset, chunkCharacters: 1 }),
      );
      return part !== undefined && 'document' in part ? part.document.text : '';
    };
    assert.equal(await read(Buffer.from('<meta charset="iso-8859-1"><p>gr\xf6\xdfer', 'latin1'), null), 'größer');
    const late = `<!-- ${'-'.repeat(6000)} --><meta charset="windows-1251"><p>\xcc\xe8\xf0`;
    assert.equal(await read(Buffer.from(late, 'latin1'), null), 'Мир');
    assert.equal(await read(Buffer.from('<meta charset="unicode"><p>größer'), null), 'größer');
    assert.equal(await read(Buffer.from('<p>\xb3\xf3d\xbc', 'latin1'), 'iso-8859-2'), 'łódź');
    assert.equal(await read(Buffer.from('<meta charset="gb2312"><p>备份和恢复数据库'), null), '备份和恢复数据库');
    assert.equal(await read(Buffer.from('<p>резервное копирование'), 'windows-1251'), 'резервное копирование');
    // GB 2312 of two characters, which are valid UTF-8 by coincidence.
    const short = Buffer.concat([Buffer.from('<p>'), Buffer.from([0xc1, 0xaa, 0xcd, 0xa8])]);
    assert.equal(await read(short, 'gb2312'), '联通');
    assert.equal(await read(Buffer.from('<meta charset="utf-16"><p>größer'), null), 'größer');
    assert.equal(await read(Buffer.from('\ufeff<p>größer', 'utf16le'), 'utf-8'), 'größer');
  });

  it('reads deep nesting and a line of a megabyte in linear time', () => {
    for (const tag of ['div', 'b', 'ul><li', 'blockquote', 'body', 'table><tr><td']) {
      assert.match(extractMainContent(`${`<${tag}>a `.repeat(4_000)}deep walrus`).text, /deep walrus/, tag);
    }
    assert.ok(extractMainContent(`<p>${'word '.repeat(200_000)}`).text.length > 900_000);
  });

  it('rejects a tag with too many attributes with too_large, not many tags with some', () => {
    const attributes = (count: number) => Array.from({ length: count }, (_, i) => `a${i}="${i}"`).join(' ');
    assert.throws(() => extractMainContent(`<p ${attributes(10_001)}>walrus`), { code: 'too_large' });
    assert.match(extractMainContent(`<p ${attributes(10_000)}>walrus`).text, /walrus/);
    assert.match(extractMainContent(`<p ${attributes(100)}>walrus</p>`.repeat(150)).text, /walrus/);
  });

  it('reads a page with misplaced head and body', () => {
    const parts = '<h1>A heading</h1><p>A paragraph.</p>';
    assert.equal(
      extractMainContent(`<html><header><p>Top</p></header><body>${parts}</body><footer>Foot</footer></html>`).blocks
        .length,
      2,
    );
    assert.equal(
      extractMainContent(`<html lang="de"><script>x</script><head><title>T</title></head><body>${parts}`).metadata[
        'language'
      ],
      'de',
    );
    assert.equal(extractMainContent(`${parts}<body>${parts}`).blocks.length, 4);
    assert.equal(extractMainContent(`<body>${parts}</body>`).blocks.length, 2);
    assert.equal(extractMainContent(`<html><body><head>${parts}<body>${parts}</body></html>`).blocks.length, 4);
  });

  it('reads a page above the limits for Readability whole', () => {
    const nested = `${'<div>'.repeat(140)}${`<p>${SENTENCE}</p>`.repeat(7_500)}`;
    const { text } = extractMainContent(page(`<p>${SENTENCE.repeat(8)}</p>${nested}`));
    assert.match(text, /Ten things/);
  });

  it('reads plain text', () => {
    assert.equal(extractMainContent('just words < more').text, 'just words < more');
    assert.equal(extractMainContent('').text, '');
  });
});
