import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { burn } from '@kenjiuno/msgreader/lib/Burner.js';
import { makeZip } from '../../../test/fixtures/documents-docx.ts';
import { listBlocks, readFormat, readOnly } from '../../../test/fixtures/read-formats.ts';

const part = (headers: string, body: string) => `Content-Type: ${headers}\r\n\r\n${body}`;
const attach = (name: string, type: string, body: string) =>
  part(`${type}\r\nContent-Disposition: attachment; filename="${name}"`, body);
const multipart = (type: string, parts: readonly string[]) =>
  part(
    `multipart/${type}; boundary="${type}"`,
    `${parts.map((one) => `--${type}\r\n${one}\r\n`).join('')}--${type}--\r\n`,
  );
const mail = (content: string, subject = 'Tides') => `Subject: ${subject}\r\n${content}`;

/** Creates an Outlook item of streams by name, within storages by `/`. */
function makeMsg(streams: Readonly<Record<string, string | Buffer>>): Buffer {
  const entries = [{ name: 'Root Entry', type: 5, length: 0, children: [] as number[] }];
  const folders = new Map([['', 0]]);
  const addFolder = (path: string) => {
    const known = folders.get(path);
    if (known !== undefined) return known;
    entries.push({ name: path, type: 1, length: 0, children: [] });
    folders.set(path, entries.length - 1);
    entries[0]?.children.push(entries.length - 1);
    return entries.length - 1;
  };
  for (const [path, content] of Object.entries({ '__properties_version1.0': Buffer.alloc(32), ...streams })) {
    const at = path.lastIndexOf('/');
    const bytes = Buffer.isBuffer(content) ? content : Buffer.from(content, 'utf16le');
    const folder = addFolder(path.slice(0, Math.max(0, at)));
    const entry = {
      name: path.slice(at + 1),
      type: 2,
      length: bytes.length,
      children: [],
      binaryProvider: () => new Uint8Array(bytes),
    };
    entries.push(entry);
    entries[folder]?.children.push(entries.length - 1);
  }
  return Buffer.from(burn(entries as never));
}

describe('readEml', () => {
  it('reads subject, people, date, and the text rather than the page', async () => {
    const headers =
      'From: =?utf-8?q?J=C3=B6rg?= <j@x.example>\r\nTo: Ann <a@x.example>, b@x.example\r\nCc: Team: c@x.example;\r\nDate: Mon, 1 Jan 2024 12:00:00 +0200\r\n';
    const body = multipart('alternative', [
      part('text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: quoted-printable', 'Gr=FC=DFe'),
      part('text/html', '<p>page</p>'),
    ]);
    const document = await readOnly('eml', headers + mail(body, '=?iso-8859-1?Q?gr=F6=DFer?='));
    assert.deepEqual(listBlocks(document), [
      'heading1: größer',
      'paragraph: From: Jörg <j@x.example>\nTo: Ann <a@x.example>, b@x.example\nCc: Team: c@x.example\nDate: 2024-01-01T10:00:00.000Z',
      'paragraph: Grüße',
    ]);
    assert.equal(document.title, 'größer');
    assert.deepEqual(document.metadata, {
      from: 'Jörg <j@x.example>',
      to: ['Ann <a@x.example>', 'b@x.example'],
      cc: ['Team: c@x.example'],
      date: '2024-01-01T10:00:00.000Z',
    });
  });

  it('reads attachments below their names by their own formats, without pages and inline pictures', async () => {
    const docx = makeZip([
      { name: 'word/document.xml', content: '<w:document><w:p><w:t>In Word.</w:t></w:p></w:document>' },
    ]).toString('base64');
    const content = multipart('mixed', [
      part('text/html', '<h1>Hello</h1><p>See below.</p>'),
      attach('a.docx', 'application/octet-stream\r\nContent-Transfer-Encoding: base64', docx),
      attach('b.md', 'text/plain', '# Ebb\n\nFlow'),
      attach('c.csv', 'text/csv', 'port,height\nBrest,7\nOban,4'),
      attach('d.bin', 'application/octet-stream', 'x'),
      attach('e.docx', 'application/octet-stream', 'no archive'),
      part('image/png; name=logo.png\r\nContent-Disposition: inline\r\nContent-ID: <1>', 'x'),
      attach('smime.p7s', 'application/pkcs7-signature', 'x'),
      part('message/rfc822', mail('Content-Type: text/plain\r\n\r\ninner', 'Inside')),
    ]);
    const document = await readOnly('eml', mail(content));
    assert.deepEqual(listBlocks(document), [
      'heading1: Tides',
      'heading2: Hello',
      'paragraph: See below.',
      'heading2: a.docx',
      'paragraph: In Word.',
      'heading2: b.md',
      'heading3: # Ebb',
      'paragraph: Flow',
      'heading2: c.csv',
      'table: port | height\nBrest | 7\nOban | 4',
      'heading2: attachment-8.eml',
      'heading3: Inside',
      'paragraph: inner',
    ]);
    assert.ok(document.blocks.every(({ cells, page }) => cells === undefined && page === undefined));
    const message = 'Attachments that were not read (2): .bin (1), invalid_file (1).';
    assert.deepEqual(document.warnings, [{ code: 'parts_skipped', message }]);
  });

  it('bounds attachments, and mails within mails', async () => {
    const many = Array.from({ length: 1_100 }, (_, i) => attach(`${i}.txt`, 'text/plain', `Text ${i}`));
    const { blocks, warnings } = await readOnly('eml', mail(multipart('mixed', many)));
    assert.equal(blocks.length, 2 * 1_000 + 1);
    assert.match(warnings?.[0]?.message ?? '', /\(100\)/);
    let nested = mail('\r\ninnermost', 'level 5');
    for (let i = 4; i >= 0; i--) nested = mail(part('message/rfc822', nested), `level ${i}`);
    const { text } = await readOnly('eml', nested);
    assert.match(text, /level 3/);
    assert.doesNotMatch(text, /level 4|innermost/);
    let deep = part('text/plain', 'x');
    for (let i = 0; i < 200; i++) deep = multipart(`mixed-${i}`, [deep]);
    await assert.rejects(readFormat('eml', mail(deep)), { code: 'invalid_file' });
  });

  it('rejects encrypted mails, and text that is no mail', async () => {
    const pgp = multipart('encrypted', [
      attach('a.asc', 'application/pgp-encrypted', 'Version: 1'),
      attach('b.asc', 'application/octet-stream', 'x'),
    ]);
    await assert.rejects(readFormat('eml', mail(pgp)), { code: 'encrypted_file' });
    for (const text of ['', 'Just text', 'X-Header: a\r\n\r\nText'])
      await assert.rejects(readFormat('eml', text), { code: 'invalid_file' });
    assert.equal((await readOnly('eml', 'To: a@x.example\r\n\r\nText')).title, null);
  });
});

describe('readMsg', () => {
  const folder = '__attach_version1.0_#00000000';
  const streams = {
    '__substg1.0_0037001F': 'Größe',
    '__substg1.0_0C1A001F': 'Jörg',
    '__substg1.0_0C1F001F': '/O=EXCHANGE/CN=JOERG',
    '__substg1.0_1000001F': 'The text.',
    [`${folder}/__properties_version1.0`]: Buffer.alloc(8),
    [`${folder}/__substg1.0_37010102`]: Buffer.from('attached'),
    [`${folder}/__substg1.0_3707001F`]: 'note.txt',
  };

  it('reads subject, sender, text and attachments', async () => {
    const document = await readOnly('msg', makeMsg(streams));
    assert.deepEqual(listBlocks(document), [
      'heading1: Größe',
      'paragraph: From: Jörg',
      'paragraph: The text.',
      'heading2: note.txt',
      'paragraph: attached',
    ]);
    assert.deepEqual([document.title, document.metadata], ['Größe', { from: 'Jörg' }]);
  });

  it('reads the page, or the compressed RTF, of an item without text', async () => {
    const { '__substg1.0_1000001F': _, ...others } = streams;
    const page = makeMsg({ ...others, '__substg1.0_10130102': Buffer.from('<p>On a page.</p>') });
    assert.match((await readOnly('msg', page)).text, /\n\nOn a page\.\n\n/);
    const rtf = Buffer.from('{\\rtf1 In RTF.}');
    const header = Buffer.alloc(16);
    header.writeUInt32LE(rtf.length + 12, 0);
    header.writeUInt32LE(rtf.length, 4);
    header.writeUInt32LE(0x414c454d, 8);
    const compressed = makeMsg({ ...others, '__substg1.0_10090102': Buffer.concat([header, rtf]) });
    assert.match((await readOnly('msg', compressed)).text, /\n\nIn RTF\.\n\n/);
  });

  it('rejects other files, and cycles in the sectors and in the directory', async () => {
    const bytes = makeMsg(streams);
    const directory = (bytes.readInt32LE(48) + 1) * 512;
    const table = (bytes.readInt32LE(76) + 1) * 512;
    const damage = (at: number, value: number) => {
      const copy = Buffer.from(bytes);
      copy.writeInt32LE(value, at);
      return copy;
    };
    const damaged = {
      text: Buffer.alloc(2_000, 'x'),
      short: bytes.subarray(0, 300),
      chain: damage(table + 4 * bytes.readInt32LE(48), bytes.readInt32LE(48)),
      directory: damage(directory + 128 + 72, 1),
      tables: damage(72, 2_000_000_000),
    };
    for (const [name, content] of Object.entries(damaged)) {
      for (const isCheck of [false, true])
        await assert.rejects(readFormat('msg', content, { isCheck }), { code: 'invalid_file' }, name);
    }
  });
});
