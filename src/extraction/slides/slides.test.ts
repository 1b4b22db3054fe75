import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { makeZip } from '../../../test/fixtures/documents-docx.ts';
import type { ExtractedDocument } from '../extracted-document.ts';
import { readDocument } from '../read-document.ts';

const read = async (format: 'pptx' | 'odp', content: Buffer): Promise<ExtractedDocument> => {
  const [part] = await Array.fromAsync(
    readDocument(format, { content, bytes: content.length, charset: null, chunkCharacters: 2000 }),
  );
  if (part === undefined || !('document' in part)) throw part?.error ?? new Error('nothing was read');
  return part.document;
};
const listBlocks = ({ text, blocks }: ExtractedDocument) =>
  blocks.map(({ kind, page, start, end }) => `${page} ${kind}: ${text.slice(start, end)}`);
const zip = (parts: Readonly<Record<string, string>>) =>
  makeZip(Object.entries(parts).map(([name, content]) => ({ name, content })));
const relations = (...targets: [id: string, type: string, target: string][]) =>
  `<Relationships>${targets.map(([id, type, target]) => `<Relationship Id="${id}" Type="x/${type}" Target="${target}"/>`).join('')}</Relationships>`;
const inches = (x: number, y: number) => `<a:xfrm><a:off x="${x * 914_400}" y="${y * 914_400}"/></a:xfrm>`;
const paragraph = (text: string, properties = '') => `<a:p>${properties}<a:r><a:t>${text}</a:t></a:r></a:p>`;
const shape = (text: string, properties = '', placeholder = '') =>
  `<p:sp><p:nvSpPr><p:nvPr>${placeholder}</p:nvPr></p:nvSpPr><p:spPr>${properties}</p:spPr><p:txBody>${text}</p:txBody></p:sp>`;
const slide = (shapes: string) => `<p:sld><p:cSld><p:spTree>${shapes}</p:spTree></p:cSld></p:sld>`;
const makePptx = (slides: readonly string[], others: Readonly<Record<string, string>> = {}) =>
  zip({
    'ppt/presentation.xml': `<p:presentation><p:sldIdLst>${slides.map((_, i) => `<p:sldId r:id="r${i}" id="${256 + i}"/>`).join('')}</p:sldIdLst></p:presentation>`,
    'ppt/_rels/presentation.xml.rels': relations(
      ...slides.map((_, i): [string, string, string] => [`r${i}`, 'slide', `slides/s${9 - i}.xml`]),
    ),
    ...Object.fromEntries(slides.map((xml, i) => [`ppt/slides/s${9 - i}.xml`, slide(xml)])),
    ...others,
  });

describe('readPptx', () => {
  it('reads slides in order: title, shapes from top to bottom, tables, notes', async () => {
    const cell = (text: string) => `<a:tc><a:txBody>${paragraph(text)}</a:txBody></a:tc>`;
    const table = `<p:graphicFrame><p:xfrm><a:off x="0" y="914400"/></p:xfrm><a:tbl><a:tr>${cell('day')}${cell('open')}</a:tr><a:tr>${cell('Monday')}${cell('nine')}</a:tr></a:tbl></p:graphicFrame>`;
    const body =
      paragraph('one') + paragraph('below', '<a:pPr lvl="1"/>') + paragraph('plain', '<a:pPr><a:buNone/></a:pPr>');
    const first = [
      shape(paragraph('last'), inches(0, 5)),
      shape(paragraph('right'), inches(4, 2.1)),
      shape(paragraph('left') + paragraph('dot', '<a:pPr><a:buChar char="-"/></a:pPr>'), inches(1, 2.05)),
      table,
      shape(body, '', '<p:ph idx="1"/>'),
      shape(paragraph('Opening') + paragraph('hours'), inches(0, 6), '<p:ph type="title"/>'),
      shape(paragraph('7'), inches(0, 0), '<p:ph type="sldNum"/>'),
    ];
    const content = makePptx([first.join(''), '', shape(paragraph('no title'))], {
      'ppt/slides/_rels/s9.xml.rels': relations(
        ['a', 'slideLayout', '../layout.xml'],
        ['b', 'notesSlide', '/ppt/notes.xml'],
      ),
      'ppt/layout.xml': slide(shape('', inches(0, 3), '<p:ph idx="1" type="body"/>')),
      'ppt/notes.xml': slide(
        shape(paragraph('Say it slowly.'), '', '<p:ph type="body"/>') +
          shape(paragraph('12'), '', '<p:ph type="sldNum"/>'),
      ),
      'docProps/core.xml':
        '<cp:coreProperties><dc:title>Deck</dc:title><dc:creator>Ann</dc:creator></cp:coreProperties>',
    });
    const document = await read('pptx', content);
    assert.deepEqual(listBlocks(document), [
      '1 heading: Opening hours',
      '1 table: day | open\nMonday | nine',
      '1 paragraph: left',
      '1 list-item: - dot',
      '1 paragraph: right',
      '1 list-item: - one',
      '1 list-item:   - below',
      '1 paragraph: plain',
      '1 paragraph: last',
      '1 paragraph: Notes: Say it slowly.',
      '3 heading: Slide 3',
      '3 paragraph: no title',
    ]);
    assert.equal(document.title, 'Deck');
    assert.deepEqual(document.metadata, { author: 'Ann' });
  });

  it('places shapes of groups, and skips fallbacks', async () => {
    const group = `<p:grpSp><p:grpSpPr><a:xfrm><a:off x="0" y="4572000"/><a:chOff x="0" y="0"/></a:xfrm></p:grpSpPr>${shape(paragraph('grouped'), inches(0, 0))}</p:grpSp>`;
    const fallback = `<mc:AlternateContent><mc:Choice>${shape(paragraph('choice'), inches(0, 3))}</mc:Choice><mc:Fallback>${shape(paragraph('fallback'))}</mc:Fallback></mc:AlternateContent>`;
    const document = await read('pptx', makePptx([group + fallback + shape(paragraph('above'), inches(0, 2))]));
    assert.deepEqual(listBlocks(document).slice(1), [
      '1 paragraph: above',
      '1 paragraph: choice',
      '1 paragraph: grouped',
    ]);
  });

  const failures: [string, string, Buffer][] = [
    ['without text', 'no_text', makePptx([''])],
    ['that is a workbook', 'invalid_file', zip({ 'ppt/presentation.xml': '<workbook/>' })],
    [
      'whose slide breaks off',
      'invalid_file',
      zip({
        'ppt/presentation.xml': '<p:presentation><p:sldId r:id="a"/></p:presentation>',
        'ppt/_rels/presentation.xml.rels': relations(['a', 'slide', 's.xml']),
        'ppt/s.xml': '<p:sld><p:sp',
      }),
    ],
    [
      'with too many slides',
      'too_large',
      zip({ 'ppt/presentation.xml': `<p:presentation>${'<p:sldId r:id="a"/>'.repeat(5_001)}</p:presentation>` }),
    ],
    [
      'that repeats a long slide',
      'too_large',
      zip({
        'ppt/presentation.xml': `<p:presentation>${'<p:sldId r:id="a"/>'.repeat(300)}</p:presentation>`,
        'ppt/_rels/presentation.xml.rels': relations(['a', 'slide', 's.xml']),
        'ppt/s.xml': slide(shape(paragraph('x'.repeat(50_000)))),
      }),
    ],
    [
      'that needs a password',
      'encrypted_file',
      Buffer.concat([
        Buffer.from('d0cf11e0a1b11ae1', 'hex'),
        Buffer.alloc(600),
        Buffer.from('EncryptedPackage', 'utf16le'),
      ]),
    ],
  ];
  for (const [what, code, content] of failures) {
    it(`rejects a presentation ${what} with ${code}`, async () => {
      await assert.rejects(read('pptx', content), { code });
    });
  }
});

describe('readOdp', () => {
  const p = (text: string) => `<text:p>${text}</text:p>`;
  const frame = (content: string, attributes = '') =>
    `<draw:frame ${attributes}><draw:text-box>${content}</draw:text-box></draw:frame>`;
  const makeOdp = (pages: string, more: Readonly<Record<string, string>> = {}) =>
    zip({
      'content.xml': `<office:document-content><office:body><office:presentation>${pages}</office:presentation></office:body></office:document-content>`,
      ...more,
    });

  it('reads slides in order: title, shapes from top to bottom, lists, tables, notes', async () => {
    const list = `<text:list><text:list-item>${p('one')}<text:list><text:list-item>${p('below')}</text:list-item></text:list></text:list-item></text:list>`;
    const table = `<draw:frame svg:x="1cm" svg:y="5mm"><table:table><table:table-row><table:table-cell>${p('day')}</table:table-cell><table:table-cell>${p('open')}</table:table-cell></table:table-row></table:table></draw:frame>`;
    const pages = [
      `<draw:page>${frame(list, 'svg:x="1cm" svg:y="9cm"')}${frame(p('A<text:s/>b<office:annotation><text:p>hidden</text:p></office:annotation>c'), 'svg:x="1in" svg:y="2in"')}${table}
        ${frame(p('Hours'), 'presentation:class="title" svg:x="1cm" svg:y="20cm"')}${frame(p('7'), 'presentation:class="footer"')}
        <presentation:notes>${frame(p('Say it slowly.'), 'presentation:class="notes"')}</presentation:notes></draw:page>`,
      `<draw:page><draw:custom-shape>${p('no title')}</draw:custom-shape></draw:page>`,
    ];
    const meta =
      '<office:meta><dc:title>Deck</dc:title><meta:keyword>a</meta:keyword><meta:keyword>b</meta:keyword></office:meta>';
    const document = await read('odp', makeOdp(pages.join(''), { 'meta.xml': meta }));
    assert.deepEqual(listBlocks(document), [
      '1 heading: Hours',
      '1 table: day | open',
      '1 paragraph: A bc',
      '1 list-item: - one',
      '1 list-item:   - below',
      '1 paragraph: Notes: Say it slowly.',
      '2 heading: Slide 2',
      '2 paragraph: no title',
    ]);
    assert.equal(document.title, 'Deck');
    assert.deepEqual(document.metadata, { keywords: 'a, b' });
  });

  it('rejects other kinds, empty, damaged and encrypted files', async () => {
    await assert.rejects(read('odp', makeOdp('<draw:page/>')), { code: 'no_text' });
    const text =
      '<office:document-content><office:body><office:text><text:p>x</text:p></office:text></office:body></office:document-content>';
    await assert.rejects(read('odp', zip({ 'content.xml': text })), { code: 'invalid_file' });
    await assert.rejects(read('odp', zip({ 'content.xml': '<office:body><office:presentation><draw' })), {
      code: 'invalid_file',
    });
    const manifest =
      '<manifest:manifest><manifest:file-entry><manifest:encryption-data/></manifest:file-entry></manifest:manifest>';
    await assert.rejects(read('odp', makeOdp('', { 'META-INF/manifest.xml': manifest })), { code: 'encrypted_file' });
    await assert.rejects(read('odp', makeOdp('<draw:page/>'.repeat(5_001))), { code: 'too_large' });
  });
});
