import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { makeZip } from '../../test/fixtures/documents-docx.ts';
import { readFormat, readOnly } from '../../test/fixtures/read-formats.ts';

describe('hostile files', () => {
  it('a mail of 10,000 parts', async () => {
    const part = (i: number, headers: string) => `--b\r\nContent-Type: text/plain${headers}\r\n\r\nText ${i}\r\n`;
    const attached = (i: number) => part(i, `\r\nContent-Disposition: attachment; filename=${i}.txt`);
    const mail = (parts: readonly string[]) =>
      `Subject: x\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n${parts.join('')}--b--`;
    const inline = await readOnly('eml', mail(Array.from({ length: 10_000 }, (_, i) => part(i, ''))));
    assert.match(inline.text, /Text 9999/);
    const { warnings } = await readOnly('eml', mail(Array.from({ length: 10_000 }, (_, i) => attached(i))));
    assert.match(warnings?.[0]?.message ?? '', /\(9000\)/);
  });

  it('an RTF of a million paragraphs, groups and escapes', async () => {
    const { blocks } = await readOnly('rtf', `{\\rtf1 ${"{\\b a}\\'e4\\par ".repeat(1_000_000)}}`);
    assert.equal(blocks.length, 1_000_000);
  });

  it('an array of a million objects, and an object of a million arrays', async () => {
    assert.equal((await readFormat('json', `[${'{"text":"a"},'.repeat(300_000)}{"text":"b"}]`)).length, 300_001);
    assert.equal((await readFormat('json', `{"text":"a"${',"b":[]'.repeat(1_000_000)}}`)).length, 1);
  });

  it('an archive of a gigabyte of text, compressed to a megabyte', async () => {
    const parts = Array.from({ length: 25 }, (_, i) => ({ name: `${i}.txt`, content: Buffer.alloc(44_000_000, 'a') }));
    await assert.rejects(readFormat('zip', makeZip(parts)), { code: 'too_large' });
  });
});
