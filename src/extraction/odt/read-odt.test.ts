import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { makeZip } from '../../../test/fixtures/documents-docx.ts';
import { listBlocks, readFormat, readOnly } from '../../../test/fixtures/read-formats.ts';

/** Creates an OpenDocument text of the XML below `office:text`. */
function makeOdt(body: string, { styles = '', end = '</office:text></office:body></office:document-content>' } = {}) {
  const content = `<office:document-content><office:automatic-styles>${styles}</office:automatic-styles><office:body><office:text>${body}${end}`;
  return makeZip([
    { name: 'mimetype', content: 'application/vnd.oasis.opendocument.text' },
    {
      name: 'styles.xml',
      content:
        '<s><text:list-style style:name="Numbers"><text:list-level-style-number text:level="1" style:num-format="1"/><text:list-level-style-number text:level="2" style:num-format=""/></text:list-style></s>',
    },
    { name: 'content.xml', content },
    { name: 'meta.xml', content: '<m><dc:title>Tide &amp; time</dc:title><dc:creator>Ann</dc:creator></m>' },
  ]);
}
const item = (text: string, others = '') => `<text:list-item><text:p>${text}</text:p>${others}</text:list-item>`;

describe('readOdt', () => {
  it('reads headings, paragraphs with their white space, text boxes and metadata', async () => {
    const styles =
      '<style:style style:name="P1" style:parent-style-name="Title"/><style:style style:name="P2" style:parent-style-name="Heading_20_3"/><style:style style:name="P3" style:parent-style-name="P3"/>';
    const box =
      '<draw:frame><svg:title>alt</svg:title><svg:desc>text</svg:desc><draw:text-box><text:p>In the box.</text:p></draw:text-box></draw:frame>';
    const document = await readOnly(
      'odt',
      makeOdt(
        `<text:p text:style-name="P1">The sea</text:p><text:h text:outline-level="2">Two <text:span>words</text:span></text:h><text:p text:style-name="P2">Third</text:p><text:p text:style-name="P3">a<text:s text:c="2"/>b<text:tab/>c<text:line-break/>d${box}</text:p>`,
        { styles },
      ),
    );
    assert.deepEqual(listBlocks(document), [
      'heading1: The sea',
      'heading2: Two words',
      'heading3: Third',
      'paragraph: In the box.',
      'paragraph: a  b\tc\nd',
    ]);
    assert.deepEqual([document.title, document.metadata], ['Tide & time', { author: 'Ann' }]);
  });

  it('numbers lists, continues them, and indents what belongs to an item', async () => {
    const nested = `<text:list>${item('inner')}</text:list><text:p>more</text:p>`;
    const body = `<text:list text:style-name="Numbers">${item('one', nested)}${item('two')}</text:list><text:p>between</text:p><text:list text:continue-numbering="true" text:style-name="Numbers">${item('three')}</text:list><text:list text:style-name="Numbers">${item('again')}<text:list-item text:start-value="7"><text:p>seven</text:p></text:list-item></text:list><text:list>${item('dot')}</text:list>`;
    assert.deepEqual(listBlocks(await readOnly('odt', makeOdt(body))), [
      'list-item: 1. one',
      'list-item:   - inner',
      'list-item:    more',
      'list-item: 2. two',
      'paragraph: between',
      'list-item: 3. three',
      'list-item: 1. again',
      'list-item: 7. seven',
      'list-item: - dot',
    ]);
  });

  it('reads tables as lines, a nested one within its cell, and notes after their block', async () => {
    const cell = (text: string) => `<table:table-cell><text:p>${text}</text:p></table:table-cell>`;
    const row = (cells: string) => `<table:table-row>${cells}</table:table-row>`;
    const note = (text: string) =>
      `<text:note><text:note-citation>9</text:note-citation><text:note-body><text:p>${text}</text:p></text:note-body></text:note>`;
    const inner = `<table:table-cell><table:table>${row(cell('x') + cell('y'))}</table:table></table:table-cell>`;
    const body = `<table:table>${row(cell(`Port${note('A harbour.')}`) + cell('Height'))}${row(cell('Brest') + inner)}<table:covered-table-cell/></table:table><text:p>Said${note('By Bo.')} so.</text:p>`;
    assert.deepEqual(listBlocks(await readOnly('odt', makeOdt(body))), [
      'table: Port[1] | Height\nBrest | x | y |',
      'paragraph: [1] A harbour.',
      'paragraph: Said[2] so.',
      'paragraph: [2] By Bo.',
    ]);
  });

  it('skips comments, deleted text, ruby annotations and the table of contents', async () => {
    const body =
      '<text:tracked-changes><text:p>deleted</text:p></text:tracked-changes><text:table-of-content><text:p>Sea 1</text:p></text:table-of-content><text:p>Kept<office:annotation><text:p>comment</text:p></office:annotation><text:ruby><text:ruby-base>東</text:ruby-base><text:ruby-text>higashi</text:ruby-text></text:ruby></text:p>';
    assert.deepEqual(listBlocks(await readOnly('odt', makeOdt(body))), ['paragraph: Kept東']);
  });

  it('reads a truncated text, rejects one without text, other kinds and encrypted files', async () => {
    assert.equal((await readOnly('odt', makeOdt('<text:p>Half</text:p>', { end: '<text:p>an' }))).text, 'Half\n\nan');
    await assert.rejects(readFormat('odt', makeOdt('', { end: '' })), { code: 'invalid_file' });
    const sheet = makeZip([
      { name: 'content.xml', content: '<c><office:body><office:spreadsheet/></office:body></c>' },
    ]);
    for (const isCheck of [false, true]) {
      await assert.rejects(readFormat('odt', sheet, { isCheck }), { code: 'invalid_file' });
      const encrypted = makeZip([
        { name: 'content.xml', content: 'x' },
        { name: 'META-INF/manifest.xml', content: '<m><manifest:encryption-data/></m>' },
      ]);
      await assert.rejects(readFormat('odt', encrypted, { isCheck }), { code: 'encrypted_file' });
    }
  });

  it('bounds nesting and repeated spaces', async () => {
    await assert.rejects(readFormat('odt', makeOdt('<text:list><text:list-item>'.repeat(600))), { code: 'too_large' });
    const spaces = '<text:s text:c="999999999"/>'.repeat(100);
    assert.ok((await readOnly('odt', makeOdt(`<text:p>a${spaces}b</text:p>`))).text.length < 20_000);
  });
});
