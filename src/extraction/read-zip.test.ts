import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { makeZip } from '../../test/fixtures/documents-docx.ts';
import { listBlocks, readFormat, readOnly } from '../../test/fixtures/read-formats.ts';
import type { Extraction } from './extracted-document.ts';

const zip = (parts: Readonly<Record<string, string | Buffer>>) =>
  makeZip(Object.entries(parts).map(([name, content]) => ({ name, content })));
const outcome = (extraction: Extraction) => [
  extraction.part,
  'error' in extraction ? extraction.error.code : extraction.document.text,
];

describe('readZip', () => {
  it('reads each file by its format below its path; one that fails, fails alone', async () => {
    const parts = await readFormat(
      'zip',
      zip({
        'guides/': '',
        'guides/pump.md': '# Pump\n\nTurn it.',
        'b.docx': 'no archive',
        'c.csv': 'port,height\nBrest,7\nOban,4',
        'd.jsonl': '{"text":"one"}\n{"n":1}',
      }),
    );
    assert.deepEqual(parts.map(outcome), [
      ['guides/pump.md', 'guides/pump.md\n\n# Pump\n\nTurn it.'],
      ['b.docx', 'invalid_file'],
      ['c.csv', 'c.csv\n\nport | height\nBrest | 7\nOban | 4'],
      ['d.jsonl/1', 'd.jsonl\n\none'],
      ['d.jsonl/2', 'no_text'],
    ]);
    const [first, , table] = parts;
    assert.ok(first !== undefined && 'document' in first && table !== undefined && 'document' in table);
    assert.deepEqual(listBlocks(first.document).slice(0, 2), ['heading1: guides/pump.md', 'heading2: # Pump']);
    assert.deepEqual([first.bytes, first.document.title, first.document.warnings], [16, 'Pump', undefined]);
    assert.deepEqual(table.document.blocks[1]?.cells?.rows, [1, 2, 3]);
  });

  it('counts files of other formats, and ignores hidden ones', async () => {
    const hidden = { '.git/a.txt': 'x', '__MACOSX/._a.txt': 'x', 'x/~$a.docx': 'x', '.DS_Store': 'x' };
    const [part] = await readFormat(
      'zip',
      zip({ 'a.exe': 'x', 'b.exe': 'x', LICENSE: 'x', ...hidden, 'c.txt': 'text' }),
    );
    assert.ok(part !== undefined && 'document' in part);
    const message = 'Files of the archive that were not read (3): .exe (2), no extension (1).';
    assert.deepEqual(part.document.warnings, [{ code: 'parts_skipped', message }]);
    for (const isCheck of [false, true])
      await assert.rejects(readFormat('zip', zip({ 'a.exe': 'x', ...hidden }), { isCheck }), {
        code: 'unsupported_file',
      });
  });

  it('reads an archive that is a document by its content', async () => {
    const word = '<w:document><w:p><w:t>In Word.</w:t></w:p></w:document>';
    assert.equal((await readOnly('zip', zip({ 'word/document.xml': word }))).text, 'In Word.');
    const type = 'application/vnd.oasis.opendocument.text';
    const content = '<d><office:body><office:text><text:p>In Writer.</text:p></office:text></office:body></d>';
    const odt = zip({ mimetype: type, 'content.xml': content, 'notes.txt': 'x' });
    assert.deepEqual(await readFormat('zip', odt, { isCheck: true }), []);
    assert.deepEqual((await readFormat('zip', odt)).map(outcome), [['', 'In Writer.']]);
  });

  it('keeps paths inside of the archive, and reads each once', async () => {
    const names = ['../../etc/a.txt', '/b.txt', 'C:\\x\\c.txt', 'x/../b.txt', 'x/./d.txt'];
    const parts = await readFormat('zip', zip(Object.fromEntries(names.map((name) => [name, name]))));
    assert.deepEqual(
      parts.map(({ part }) => part),
      ['etc/a.txt', 'b.txt', 'C:/x/c.txt', 'x/d.txt'],
    );
  });

  it('reads archives within archives up to three levels', async () => {
    let inner = zip({ 'a.txt': 'level 4' });
    for (let i = 3; i >= 1; i--) inner = zip({ 'n.zip': inner, 'a.txt': `level ${i}` });
    assert.deepEqual((await readFormat('zip', inner)).map(outcome), [
      ['n.zip/n.zip/n.zip', 'too_large'],
      ['n.zip/n.zip/a.txt', 'n.zip\n\nn.zip\n\na.txt\n\nlevel 3'],
      ['n.zip/a.txt', 'n.zip\n\na.txt\n\nlevel 2'],
      ['a.txt', 'a.txt\n\nlevel 1'],
    ]);
  });

  it('rejects bombs: in all, of one file, at all depths, and of false sizes', async () => {
    const bomb = (bytes: number, count: number) =>
      makeZip(Array.from({ length: count }, (_, i) => ({ name: `${i}.txt`, content: 'x', saysBytes: bytes })));
    await assert.rejects(readFormat('zip', bomb(268_435_456, 5)), { code: 'too_large' });
    assert.deepEqual((await readFormat('zip', bomb(268_435_457, 1))).map(outcome), [['0.txt', 'too_large']]);
    const nested = zip({ 'a.zip': bomb(268_435_456, 3), 'b.zip': bomb(268_435_456, 3) });
    const codes = new Set(
      (await readFormat('zip', nested)).map(({ part, ...one }) => 'error' in one && `${part} ${one.error.code}`),
    );
    assert.ok(codes.has('b.zip too_large'), [...codes].join());
    const lying = makeZip([
      { name: 'a.txt', content: 'x'.repeat(1_000), saysBytes: 10 },
      { name: 'b.txt', content: 'next' },
    ]);
    assert.deepEqual((await readFormat('zip', lying)).map(outcome), [
      ['a.txt', 'too_large'],
      ['b.txt', 'b.txt\n\nnext'],
    ]);
    await assert.rejects(readFormat('zip', 'PK no archive'), { code: 'invalid_file' });
  });

  it('reports files that need a password', async () => {
    const archive = zip({ 'a.txt': 'secret', 'b.txt': 'open' });
    // The first general purpose bit of the first entry in the central directory.
    archive.writeUInt16LE(1, archive.indexOf('PK\x01\x02') + 8);
    assert.deepEqual((await readFormat('zip', archive)).map(outcome), [
      ['a.txt', 'encrypted_file'],
      ['b.txt', 'b.txt\n\nopen'],
    ]);
  });

  it('reads names that are not in Unicode', async () => {
    const name = Buffer.from([0x95, 0xb6, 0x8f, 0xcd]);
    const archive = zip({ [`${'n'.repeat(name.length)}.txt`]: 'text' });
    for (let at = archive.indexOf('nnnn'); at !== -1; at = archive.indexOf('nnnn', at)) name.copy(archive, at);
    assert.deepEqual(
      (await readFormat('zip', archive)).map(({ part }) => part),
      ['文章.txt'],
    );
  });
});
