import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { makeZip } from '../../../test/fixtures/documents-docx.ts';
import { listBlocks, readFormat, readOnly } from '../../../test/fixtures/read-formats.ts';

const OPF = 'OPS/book.opf';

/** Creates a book of pages below `body` by name, in the order of `spine`. */
function makeEpub(
  pages: Readonly<Record<string, string>>,
  { spine = Object.keys(pages), others = {} as Record<string, string>, manifest = '', toc = '', metadata = '' } = {},
) {
  const items = Object.keys(pages).map((name) => `<item id="${name}" href="text/${name}%20x.xhtml"/>`);
  const parts: Record<string, string> = {
    mimetype: 'application/epub+zip',
    'META-INF/container.xml': `<container><rootfile full-path="${OPF}"/></container>`,
    [OPF]: `<package><metadata>${metadata}</metadata><manifest>${items.join('')}${manifest}</manifest><spine${toc}>${spine.map((id) => `<itemref idref="${id}"/>`).join('')}</spine></package>`,
    ...others,
  };
  for (const [name, body] of Object.entries(pages))
    parts[`OPS/text/${name} x.xhtml`] = `<?xml version="1.0"?><html><head><title/></head><body>${body}</body></html>`;
  return makeZip(Object.entries(parts).map(([name, content]) => ({ name, content })));
}
const nav = (list: string) => ({
  manifest: '<item id="nav" href="nav.xhtml" properties="nav scripted"/>',
  others: {
    'OPS/nav.xhtml': `<html><body><nav epub:type="landmarks"><a href="text/b%20x.xhtml">Begin</a></nav><nav epub:type="toc"><ol>${list}</ol></nav></body></html>`,
  },
});

describe('readEpub', () => {
  it('reads the spine in order, with the titles of the table of contents', async () => {
    const pages = {
      a: '<p>First.</p>',
      b: '<a id="x"/><h3>Storm</h3><p>Second.</p><h4>Wind</h4><p>Third.</p>',
      c: '<p>Tail.</p><h1>Calm &amp; quiet</h1><p>Fourth.</p><h2>Part</h2><p>Fifth.</p>',
    };
    const list =
      '<li><a href="text/a%20x.xhtml">The <b>start</b></a></li><li><a href="text/b%20x.xhtml#x">Storm</a></li><li><a href="text/c%20x.xhtml#q">Calm &amp; quiet</a><ol><li><a href="text/c%20x.xhtml#r">Part</a></li></ol></li>';
    const metadata = '<dc:title>Tides</dc:title><dc:creator>Ann</dc:creator><dc:creator>Bo</dc:creator>';
    const book = makeEpub(pages, { ...nav(list), spine: ['nav', 'b', 'a', 'c'], metadata });
    const document = await readOnly('epub', book);
    assert.deepEqual(listBlocks(document), [
      'heading1: Storm',
      'paragraph: Second.',
      'heading4: Wind',
      'paragraph: Third.',
      'heading1: The start',
      'paragraph: First.',
      'paragraph: Tail.',
      'heading1: Calm & quiet',
      'paragraph: Fourth.',
      'heading2: Part',
      'paragraph: Fifth.',
    ]);
    assert.deepEqual([document.title, document.metadata], ['Tides', { author: ['Ann', 'Bo'] }]);
  });

  it('reads the table of contents of EPUB 2, and headings without one', async () => {
    const pages = { a: '<h2>Storm</h2><p>First.</p>', b: '<p>Second.</p>' };
    const ncx =
      '<ncx><navMap><navPoint><navLabel><text>Storm</text></navLabel><content src="text/a%20x.xhtml"/></navPoint><navPoint><navLabel><text> Calm </text></navLabel><content src="text/b%20x.xhtml"/></navPoint></navMap><pageList><navPoint><navLabel><text>7</text></navLabel><content src="text/a%20x.xhtml"/></navPoint></pageList></ncx>';
    const old = makeEpub(pages, {
      manifest: '<item id="ncx" href="toc.ncx"/>',
      toc: ' toc="ncx"',
      others: { 'OPS/toc.ncx': ncx },
    });
    const blocks = ['heading1: Storm', 'paragraph: First.', 'heading1: Calm', 'paragraph: Second.'];
    assert.deepEqual(listBlocks(await readOnly('epub', old)), blocks);
    assert.deepEqual(listBlocks(await readOnly('epub', makeEpub(pages))), blocks.toSpliced(2, 1));
  });

  it('reads a page once that the spine repeats, and skips missing ones', async () => {
    const spine = [...Array.from({ length: 10_000 }, () => 'a'), 'missing'];
    assert.equal((await readOnly('epub', makeEpub({ a: '<p>Once.</p>' }, { spine }))).text, 'Once.');
    const gone = makeEpub({ a: '<p>Once.</p>' }, { manifest: '<item id="b" href="b.xhtml"/>', spine: ['b', 'a'] });
    assert.equal((await readOnly('epub', gone)).text, 'Once.');
  });

  it('rejects copy protection, but not obfuscated fonts', async () => {
    const encryption = (algorithm: string) => ({
      others: { 'META-INF/encryption.xml': `<e><enc:EncryptionMethod Algorithm="${algorithm}"/></e>` },
    });
    const fonts = makeEpub({ a: '<p>Open.</p>' }, encryption('http://www.idpf.org/2008/embedding'));
    assert.equal((await readOnly('epub', fonts)).text, 'Open.');
    const drm = makeEpub({ a: '<p>Closed.</p>' }, encryption('http://www.w3.org/2001/04/xmlenc#aes128-cbc'));
    for (const isCheck of [false, true])
      await assert.rejects(readFormat('epub', drm, { isCheck }), { code: 'encrypted_file' });
  });

  it('rejects archives that are no book', async () => {
    const archive = makeZip([{ name: 'META-INF/container.xml', content: '<c><rootfile full-path="x"/></c>' }]);
    for (const isCheck of [false, true])
      await assert.rejects(readFormat('epub', archive, { isCheck }), { code: 'invalid_file' });
  });
});
