import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deflateRawSync } from 'node:zlib';
import { ApiError } from '../errors.ts';
import { requireFormat, requirePurposeFormat, sanitizeFilename } from './formats.ts';
import { inspectContent } from './inspect-content.ts';

/** Inspects bytes under a name in chunks of `size`. Returns the defect; null if the bytes pass unchanged. */
async function inspect(name: string, bytes: Uint8Array, size = bytes.length || 1, isTraining = false) {
  const pieces = async function* () {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
  };
  const passed: Uint8Array[] = [];
  try {
    for await (const piece of inspectContent(pieces(), requireFormat(name), () => isTraining)) passed.push(piece);
  } catch (error) {
    assert.ok(error instanceof ApiError);
    assert.deepEqual([error.status, error.code, error.param], [400, 'invalid_value', 'file']);
    return error.message;
  }
  assert.ok(Buffer.concat(passed).equals(bytes));
  return null;
}

/** A ZIP archive as writers create it: entries, then the central directory. Checksums and offsets are not read. */
function archive(entries: Record<string, string>): Buffer {
  const local = Object.entries(entries).map(([name, text]) => {
    const data = deflateRawSync(text);
    const head = Buffer.alloc(30);
    head.writeUInt32LE(0x04034b50);
    head.writeUInt16LE(8, 8);
    head.writeUInt32LE(data.length, 18);
    head.writeUInt16LE(name.length, 26);
    return Buffer.concat([head, Buffer.from(name), data]);
  });
  const listed = Object.keys(entries).map((name) =>
    Buffer.concat([Buffer.from('PK\x01\x02'), Buffer.alloc(42), Buffer.from(name)]),
  );
  return Buffer.concat([...local, ...listed, Buffer.from('PK\x05\x06'), Buffer.alloc(18)]);
}

const LARGE = 80_000;
const pdf = Buffer.concat([Buffer.from('%PDF-1.7\n%'), Buffer.alloc(5000, 0xe2)]);
const docx = archive({ '[Content_Types].xml': '<Types/>', 'word/document.xml': '<w:document/>' });
const lateDocx = archive({ 'docProps/app.xml': 'x'.repeat(300_000), 'word/document.xml': '<w:document/>' });
const xlsx = archive({ '[Content_Types].xml': '<Types/>', 'xl/workbook.xml': '<workbook/>' });
const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
const latin1 = Buffer.from('caf\xe9 cr\xe8me\r\n'.repeat(6_000), 'latin1');
const utf16 = (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le');
const utf32 = (text: string) =>
  Buffer.from(Uint32Array.from(text, (character) => character.codePointAt(0) ?? 0).buffer);
const compound = Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.alloc(5000)]);
const locked = Buffer.concat([
  Buffer.from('d0cf11e0a1b11ae1', 'hex'),
  Buffer.alloc(5000),
  Buffer.from('EncryptedPackage', 'utf16le'),
]);
const ofWide = 'a\u00e9\u65e5\ud83d\ude00'.repeat(8_000);

describe('inspectContent', () => {
  const TAKEN: readonly [name: string, bytes: Uint8Array][] = [
    ['a.pdf', pdf],
    ['a.PDF', Buffer.concat([Buffer.alloc(1019, 0x20), Buffer.from('%PDF-')])],
    ['a.docx', docx],
    ['a.docx', lateDocx],
    ['a.xlsx', xlsx],
    ['a.xlsx', locked],
    ['a.pptx', archive({ 'ppt/presentation.xml': '<presentation/>' })],
    ['a.ods', archive({ mimetype: 'x', 'content.xml': '<x/>' })],
    ['a.odp', archive({ mimetype: 'x', 'content.xml': '<x/>' })],
    ['a.png', Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')],
    ['a.JPG', Buffer.from('\xff\xd8\xff\xe0', 'latin1')],
    ['a.jpeg', Buffer.from('\xff\xd8\xff\xe1 Exif', 'latin1')],
    ['a.tif', Buffer.from('II*\0')],
    ['a.tiff', Buffer.from('MM\0*')],
    ['a.webp', Buffer.from('RIFF\r\n\xff\0WEBP', 'latin1')],
    ['a.odt', archive({ mimetype: 'x', 'content.xml': '<x/>' })],
    ['a.epub', archive({ mimetype: 'x', 'META-INF/container.xml': '<x/>' })],
    ['a.zip', archive({ 'a.txt': 'x' })],
    ['a.rtf', Buffer.concat([Buffer.from('\ufeff\r\n{\\rtf1 {\\pict\\bin9 '), Buffer.alloc(9)])],
    ['a.msg', Buffer.concat([compound, Buffer.from('__properties_version1.0', 'utf16le')])],
    ['a.eml', Buffer.from('Subject: x\r\n\r\nx')],
    ['a.json', Buffer.from('[{"text":"x"}]')],
    ['a.txt', Buffer.from(ofWide)],
    ['a.md', Buffer.from('x')],
    ['a.csv', latin1],
    ['a.html', Buffer.from('<p>\ufeff')],
    ['a.txt', utf16(ofWide)],
    ['a.txt', utf16(ofWide).swap16()],
    ['a.txt', utf16('short')],
    ['a.txt', Buffer.from('No mark, in two bytes each.', 'utf16le')],
    ['a.csv', Buffer.from('none;here;either\r\n'.repeat(500), 'utf16le').swap16()],
    ['a.txt', utf32('\ufeffFour bytes each, \u{1f600}.')],
    ['a.txt', utf32('Four bytes each. '.repeat(500)).swap32()],
    ['a.docx', locked],
    ['a.txt', Buffer.from('\x1b[1mbold\x1b[0m\f\t\u0007 in UTF-8')],
    ['a.txt', Buffer.from('truncated \u65e5').subarray(0, -1)],
    ['a.jsonl', Buffer.from(`{"a":"${ofWide}"}`)],
    ['a.jsonl', Buffer.from('no JSON at all, which its users will say')],
  ];
  const REFUSED: readonly [name: string, bytes: Uint8Array, why: RegExp][] = [
    ['a.txt', Buffer.alloc(0), /empty/],
    ['a.pdf', Buffer.alloc(0), /empty/],
    ['a.jsonl', Buffer.alloc(0), /empty/],
    ['a.pdf', Buffer.from('%PD'), /PDF/],
    ['a.pdf', Buffer.concat([Buffer.alloc(1020, 0x20), Buffer.from('%PDF-')]), /PDF/],
    ['a.pdf', docx, /PDF/],
    ['a.docx', pdf, /docx/],
    ['a.docx', xlsx, /docx/],
    ['a.xlsx', docx, /xlsx/],
    ['a.pptx', xlsx, /pptx/],
    ['a.epub', xlsx, /epub/],
    ['a.odt', xlsx, /odt/],
    ['a.zip', pdf, /zip/],
    ['a.rtf', Buffer.from(`${' '.repeat(20)}{\\rtf`), /rtf/],
    ['a.rtf', pdf, /rtf/],
    ['a.msg', compound, /msg/],
    ['a.msg', xlsx, /msg/],
    ['a.eml', pdf, /PDF/],
    ['a.json', xlsx, /not text/],
    ['a.ods', xlsx, /ods/],
    ['a.odp', pdf, /odp/],
    ['a.csv', xlsx, /text/],
    ['a.png', pdf, /image\/png/],
    ['a.jpg', png, /image\/jpeg/],
    ['a.tiff', Buffer.from('II*'), /image\/tiff/],
    ['a.webp', Buffer.from('RIFF1234WAVE'), /image\/webp/],
    ['a.png', Buffer.alloc(0), /empty|image/],
    ['a.docx', Buffer.from('PK'), /docx/],
    ['a.docx', Buffer.from('d0cf11e0a1b11ae1', 'hex'), /docx/],
    ['a.txt', pdf, /PDF/],
    ['a.html', docx, /text/],
    ['a.txt', png, /text/],
    ['a.csv', Buffer.concat([Buffer.alloc(LARGE, 'x'), Buffer.alloc(1)]), /text/],
    ['a.md', Buffer.from('\x01\x02 caf\xe9 x', 'latin1'), /text/],
    ['a.txt', Buffer.concat([utf16('odd'), Buffer.from('x')]), /UTF-16/],
    ['a.txt', utf16('a\0b'), /text/],
    ['a.txt', Buffer.from(Int16Array.from({ length: 5000 }, (_, i) => i % 90)), /text/],
    ['a.txt', Buffer.concat([utf32('\ufeffFour'), Buffer.alloc(4, 0xff)]), /UTF-32/],
    ['a.txt', locked, /text/],
    ['a.jsonl', latin1, /UTF-8/],
    ['a.jsonl', utf16('{}'), /UTF-8/],
    ['a.jsonl', Buffer.from('{}\n\0'), /UTF-8/],
    ['a.jsonl', Buffer.from('{"a":"\u65e5').subarray(0, -1), /UTF-8/],
  ];

  for (const size of [1, 7, 65_536]) {
    it(`are taken for what they are, in pieces of ${size}`, async () => {
      for (const [name, bytes] of TAKEN) {
        if (bytes.length / size < 20_000) assert.equal(await inspect(name, bytes, size), null, name);
      }
      for (const [name, bytes, why] of REFUSED) {
        if (bytes.length / size < 20_000) assert.match((await inspect(name, bytes, size)) ?? 'taken', why, name);
      }
    });
  }

  it('rejects invalid content as soon as enough bytes have arrived', async () => {
    let given = 0;
    const endless = async function* () {
      for (;;) {
        given += 1;
        yield Buffer.alloc(1024, 'x');
      }
    };
    for (const [name, most] of [
      ['a.pdf', 1],
      ['a.docx', 1],
      ['a.jsonl', 1],
    ] as const) {
      given = 0;
      await assert.rejects(async () => {
        for await (const _ of inspectContent(endless(), requireFormat(name), () => true))
          assert.ok(given <= most, name);
      }, ApiError);
    }
  });

  it('requires one JSON object per line for fine-tuning', async () => {
    const lines = Buffer.from('{"messages":[]}\n{"messages":[]}\n');
    assert.equal(await inspect('a.jsonl', lines, 3, true), null);
    assert.match((await inspect('a.jsonl', Buffer.concat([lines, Buffer.from('[]')]), 3, true)) ?? '', /line 3/);
    assert.match((await inspect('a.jsonl', Buffer.from('\n\n'), 1, true)) ?? '', /blank/);
    assert.match(
      (await inspect('a.jsonl', Buffer.from(`{"a":"${'x'.repeat(16_777_216)}"}`), 65_536, true)) ?? '',
      /16777216/,
    );
  });
});

describe('file names', () => {
  it('select the format by extension, case-insensitively', () => {
    assert.equal(requireFormat('A.B.JsonL').kind, 'json-lines');
    for (const name of ['', 'a', 'jsonl', 'a.jsonl ', 'a.markdown', 'a.pdf.exe', '__proto__', 'a.constructor']) {
      assert.throws(() => requireFormat(name), { code: 'invalid_value', param: 'file' }, name);
    }
  });

  it('are sanitized for display and download', () => {
    for (const [given, clean] of [
      ['/etc/passwd', 'passwd'],
      ['..\\..\\a.txt', 'a.txt'],
      ['dir/', ''],
      ['guides\\ old /pump.txt', 'guides/old/pump.txt'],
      ['guides/../pump.txt', 'pump.txt'],
      ['guides/.\u202a./pump.txt', 'pump.txt'],
      ['guides//pump.txt', 'pump.txt'],
      ['C:\\guides\\pump.txt', 'pump.txt'],
      [' a\u0000\n\u001b.txt ', 'a.txt'],
      ['x\u202etxt.exe', 'xtxt.exe'],
      ['\ud800.txt', '\ufffd.txt'],
      [`${'\ud83d\ude00'.repeat(300)}.pdf`, `${'\ud83d\ude00'.repeat(251)}.pdf`],
      [`a.${'x'.repeat(300)}`, `a.${'x'.repeat(253)}`],
    ] as const) {
      assert.equal(sanitizeFilename(given), clean);
    }
  });

  it('must end in .jsonl for batches and fine-tuning', () => {
    for (const purpose of ['batch', 'fine-tune'] as const) {
      requirePurposeFormat(requireFormat('a.jsonl'), purpose);
      assert.throws(() => requirePurposeFormat(requireFormat('a.txt'), purpose), {
        code: 'invalid_value',
        param: 'file',
      });
    }
    requirePurposeFormat(requireFormat('a.jsonl'), 'knowledge-base');
  });
});
