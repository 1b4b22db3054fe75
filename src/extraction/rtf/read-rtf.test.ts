import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { listBlocks, readFormat, readOnly } from '../../../test/fixtures/read-formats.ts';

const read = (body: string) => readOnly('rtf', Buffer.from(`{\\rtf1\\ansi\\ansicpg1252\\deff0 ${body}}`, 'latin1'));
const textOf = async (body: string) => (await read(body)).text;

describe('readRtf', () => {
  it('decodes escapes, code pages of the document and of fonts, and Unicode with its fallback', async () => {
    const fonts =
      '{\\fonttbl{\\f0\\fnil\\fcharset0 Arial;}{\\f1\\fcharset204{\\*\\panose 02}Arial Cyr;}{\\f2\\fcharset128 Mincho;}{\\f3\\fcharset255 OEM;}}';
    assert.equal(await textOf("\\'e4\xf6 \\{\\}\\\\ \\emdash\\~\\_\\-x"), 'äö {}\\ —\u00a0-x');
    assert.equal(
      await textOf(`${fonts}{\\f1 \\'cc\\'e8\\'f0} {\\f2\\'83\\'65\\'83\\'58} {\\f3\\'84}\\f0\\'e4`),
      'Мир テス ää',
    );
    assert.equal(await textOf('\\u8364?\\u-10179?\\u-8704?'), '€😀');
    assert.equal(
      await textOf("\\uc2\\u960 \\'e4\\'e4b {\\uc0\\u960 c}\\u960{}d \\u960\\endash\\endash e"),
      'πb πcπd πe',
    );
    assert.equal(await textOf("\\ansicpg9999999 \\'e4 \\pc\\'84"), 'ä ä');
  });

  it('reads headings by style and outline level, list items with their markers, and metadata', async () => {
    const styles = '{\\stylesheet{\\s1\\sb240 heading 1;}{\\s2\\outlinelevel1 Kapitel;}{\\*\\cs3 Strong;}}';
    const info =
      '{\\info{\\upr{\\title ???}{\\*\\ud{\\title \\u960 ?r}}}{\\author Ann}{\\operator Bo}{\\keywords a, b}}';
    const document = await read(
      `${styles}${info}\\pard\\s1 The sea\\par\\pard\\s2 Tides\\par\\pard\\outlinelevel2 Ebb\\par\\pard Text.\\par{\\listtext\\f1\\'b7\\tab}\\ls1 dot\\par{\\listtext 12.\\tab}\\ilvl1 twelve\\par{\\pntext a)\\tab}letter\\par\\pard End`,
    );
    assert.deepEqual(listBlocks(document), [
      'heading1: The sea',
      'heading2: Tides',
      'heading3: Ebb',
      'paragraph: Text.',
      'list-item: - dot',
      'list-item:   12. twelve',
      'list-item:   a) letter',
      'paragraph: End',
    ]);
    assert.deepEqual([document.title, document.metadata], ['πr', { author: 'Ann', keywords: 'a, b' }]);
  });

  it('reads tables as lines and notes after their paragraph', async () => {
    const row = (...cells: string[]) => `\\trowd\\cellx1\\pard\\intbl ${cells.join('\\cell ')}\\cell\\row`;
    assert.deepEqual(
      listBlocks(
        await read(
          `Before{\\footnote \\chftn A note.\\par Long.} it.\\par${row('Port', 'Height')}${row('Brest\\par harbour', '7 m')}\\pard After\\par\\trowd plain\\cell row\\cell\\row`,
        ),
      ),
      [
        'paragraph: Before[1] it.',
        'paragraph: [1] A note. Long.',
        'table: Port | Height\nBrest harbour | 7 m',
        'paragraph: After',
        'table: plain | row',
      ],
    );
  });

  it('skips pictures, binary data, hidden and deleted text, field codes and page headers', async () => {
    const binary = Buffer.from('{\\rtf1 a{\\pict\\bin4 }{}\\}b', 'latin1');
    assert.equal((await readOnly('rtf', binary)).text, 'ab');
    const skipped =
      '{\\header head}{\\*\\unknown x{y}}{\\v hidden}{\\deleted gone}{\\field{\\*\\fldinst HYPERLINK "x"}{\\fldrslt link}}{\\*\\shpinst{\\sp{\\sn a}}{\\shptxt box}}{\\pict 0aff}';
    assert.equal(await textOf(`${skipped}{\\v a\\v0 b}{\\v c\\plain d}{\\b0\\*\\cs7 e}`), 'linkboxbde');
    assert.equal(await textOf('{\\*\\htmltag <p>}{\\htmlrtf \\par}\\htmlrtf x\\htmlrtf0 mail'), 'mail');
  });

  it('bounds groups and reads damaged files as far as they have text', async () => {
    await assert.rejects(readFormat('rtf', `{\\rtf1 ${'{'.repeat(1_000_000)}`), { code: 'too_large' });
    assert.equal((await readOnly('rtf', `{\\rtf1 ${'{'.repeat(500)}deep`)).text, 'deep');
    assert.equal(await textOf('}}}a\\bin99999999999 b'), 'a');
    assert.equal((await readOnly('rtf', "{\\rtf1 {\\footnote open\\par a\\'")).text, '[1]\n\n[1] open a');
    await assert.rejects(readFormat('rtf', 'Plain text'), { code: 'invalid_file' });
    assert.deepEqual(
      (await readFormat('rtf', '{\\rtf1 }')).map((part) => 'error' in part && part.error.code),
      ['no_text'],
    );
  });
});
