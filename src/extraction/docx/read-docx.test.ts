import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { makeDocx, makeZip, wordParagraph as p, wordXml } from '../../../test/fixtures/documents-docx.ts';
import type { ExtractedDocument } from '../extracted-document.ts';
import { readDocument } from '../read-document.ts';

const read = async (bytes: Buffer): Promise<ExtractedDocument> => {
  const job = { content: bytes, bytes: bytes.length, charset: null, chunkCharacters: 2000 };
  const [part] = await Array.fromAsync(readDocument('docx', job));
  if (part === undefined || !('document' in part)) throw part?.error ?? new Error('nothing was read');
  return part.document;
};
const blocksOf = ({ text, blocks }: ExtractedDocument) =>
  blocks.map(({ kind, level, start, end }) => `${kind}${level ?? ''}: ${text.slice(start, end)}`);
const STYLES = wordXml(
  'styles',
  `<w:style w:styleId="T"><w:name w:val="Title"/></w:style>
   <w:style w:styleId="U2"><w:name w:val="heading 2"/></w:style>
   <w:style w:styleId="Own"><w:name w:val="My own"/><w:basedOn w:val="U2"/></w:style>`,
);
const NUMBERING = wordXml(
  'numbering',
  `<w:abstractNum w:abstractNumId="7"><w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/></w:lvl><w:lvl w:ilvl="1"><w:numFmt w:val="bullet"/></w:lvl></w:abstractNum>
   <w:num w:numId="3"><w:abstractNumId w:val="7"/></w:num>`,
);
const item = (level: number) => `<w:numPr><w:ilvl w:val="${level}"/><w:numId w:val="3"/></w:numPr>`;
const row = (...cells: string[]) => `<w:tr>${cells.map((cell) => `<w:tc>${cell}</w:tc>`).join('')}</w:tr>`;

describe('readDocx', () => {
  it('finds headings by style, numbers list items, writes tables as lines', async () => {
    const body = [
      p('Report', '<w:pStyle w:val="T"/>'),
      p('Part', '<w:pStyle w:val="Own"/>'),
      p('Text &amp; more'),
      p('one', item(0)),
      p('below', item(1)),
      p('two', item(0)),
      `<w:tbl>${row(p('a'), p('b'))}${row(p('1') + p('2'), `<w:tbl>${row(p('x'), p('y'))}</w:tbl>`)}</w:tbl>`,
    ];
    const document = await read(
      makeDocx(body.join(''), { 'word/styles.xml': STYLES, 'word/numbering.xml': NUMBERING }),
    );
    assert.deepEqual(blocksOf(document), [
      'heading1: Report',
      'heading2: Part',
      'paragraph: Text & more',
      'list-item: 1. one',
      'list-item:   - below',
      'list-item: 2. two',
      'table: a | b\n1 2 | x | y',
    ]);
  });

  it('places notes after the paragraph that refers to them', async () => {
    const notes = wordXml(
      'footnotes',
      `<w:footnote w:id="0" w:type="separator">${p('-')}</w:footnote><w:footnote w:id="2">${p('The note.')}</w:footnote>`,
    );
    const body = `<w:p><w:r><w:t>Claim</w:t></w:r><w:r><w:footnoteReference w:id="2"/></w:r></w:p>${p('Next.')}`;
    const document = await read(makeDocx(body, { 'word/footnotes.xml': notes }));
    assert.deepEqual(blocksOf(document), ['paragraph: Claim[1]', 'paragraph: [1] The note.', 'paragraph: Next.']);
  });

  it('inserts embedded documents in place and whole', async () => {
    const type = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships/aFChunk';
    const relation = (id: string, target: string) => `<Relationship Id="${id}" Type="${type}" Target="${target}"/>`;
    const mail = [
      'MIME-Version: 1.0\r\nContent-Type: multipart/related;\r\n\tboundary="=_x"\r\n\r\n--=_x\r\nContent-Type: image/png\r\n\r\nAAAA',
      'Content-Type: text/html;\r\n\tcharset="windows-1252"\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n<p>gr=F6=DFer als=\r\n alles</p>',
      '',
    ].join('\r\n--=_x\r\n');
    const others = {
      'word/_rels/document.xml.rels': `<Relationships>${relation('r1', '/word/a.html')}${relation('r2', 'b.mht')}${relation('r3', 'c.txt')}</Relationships>`,
      'word/a.html': '<html><body><nav>One</nav><h2>Two</h2><table><tr><td>a</td><td>b</td></tr></table></body></html>',
      'word/b.mht': mail,
      'word/c.txt': 'Plain\ntext',
    };
    const chunk = (id: string) => `<w:altChunk r:id="${id}"/>`;
    const body = `${p('Before')}${chunk('r1')}${chunk('r2')}${chunk('gone')}<w:tbl>${row(p('cell'), chunk('r3'))}</w:tbl>`;
    assert.deepEqual(blocksOf(await read(makeDocx(body, others))), [
      'paragraph: Before',
      'paragraph: One',
      'heading2: Two',
      'table: a | b',
      'paragraph: größer als alles',
      'table: cell | Plain text',
    ]);
  });

  it('skips deleted text and fallbacks for older programs', async () => {
    const box = (text: string) => `<w:txbxContent>${p(text)}</w:txbxContent>`;
    const body = `<w:p><w:r><w:t>Kept</w:t></w:r><w:del><w:r><w:t>gone</w:t></w:r></w:del><w:r><w:tab/><w:t>here</w:t></w:r>
      <mc:AlternateContent><mc:Choice>${box('in a box')}</mc:Choice><mc:Fallback>${box('in a box')}</mc:Fallback></mc:AlternateContent></w:p>`;
    assert.deepEqual(blocksOf(await read(makeDocx(body))), ['paragraph: in a box', 'paragraph: Kept\there']);
  });

  it('returns core properties as metadata', async () => {
    const core =
      '<cp:coreProperties><dc:title>A &lt;plan&gt;</dc:title><dc:creator>Ann</dc:creator><dcterms:created>2024-01-31T11:00:00Z</dcterms:created></cp:coreProperties>';
    const { title, metadata } = await read(makeDocx(p('x'), { 'docProps/core.xml': core }));
    assert.equal(title, 'A <plan>');
    assert.deepEqual(metadata, { author: 'Ann', created: '2024-01-31T11:00:00Z' });
  });

  const bomb = (saysBytes: number) =>
    makeZip([{ name: 'word/document.xml', content: Buffer.alloc(1_000_000, ' '), saysBytes }]);
  const failures: [string, string, () => Buffer][] = [
    ['that declares more than the maximum', 'too_large', () => bomb(300_000_000)],
    ['that decompresses to more than it declares', 'too_large', () => bomb(1000)],
    ['whose elements are nested too deeply', 'too_large', () => makeDocx('<w:tbl>'.repeat(5000))],
    ['without text', 'no_text', () => makeDocx(p(' '))],
    [
      'whose XML breaks off before any text',
      'invalid_file',
      () => makeZip([{ name: 'word/document.xml', content: '<w:document><broken' }]),
    ],
    ['that is not XML', 'invalid_file', () => makeZip([{ name: 'word/document.xml', content: 'walrus' }])],
    ['that is cut off', 'invalid_file', () => makeDocx(p('text')).subarray(0, 300)],
    [
      'whose text is damaged',
      'invalid_file',
      () => {
        const bytes = makeDocx(p('some text in it'));
        return bytes.fill(0xff, 260, 330);
      },
    ],
    [
      'that is a workbook',
      'invalid_file',
      () => makeZip([{ name: 'word/document.xml', content: '<workbook><p/></workbook>' }]),
    ],
    ['that is an archive of other files', 'invalid_file', () => makeZip([{ name: 'a.txt', content: 'x' }])],
    ['of Word 97 to 2003', 'invalid_file', () => Buffer.from('d0cf11e0a1b11ae100', 'hex')],
    [
      'that needs a password',
      'encrypted_file',
      () =>
        Buffer.concat([
          Buffer.from('d0cf11e0a1b11ae1', 'hex'),
          Buffer.alloc(600),
          Buffer.from('EncryptedPackage', 'utf16le'),
        ]),
    ],
  ];
  for (const [what, code, make] of failures) {
    it(`rejects a document ${what} with ${code}`, async () => {
      await assert.rejects(read(make()), { code });
    });
  }
});
