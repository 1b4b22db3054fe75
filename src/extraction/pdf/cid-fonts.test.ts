import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type CidFont, cidFont, doubleByteCodes, utf16Codes } from '../../../test/fixtures/cid-fonts.ts';
import { makePdf } from '../../../test/fixtures/documents-pdf.ts';
import { readDocument } from '../read-document.ts';
import { fontSize } from './read-pdf.ts';

const read = async (font: CidFont, codes: string): Promise<string> => {
  const content = makePdf([[{ text: '', codes, font: 0, x: 60, y: 700 }]], { fonts: [cidFont(font)] });
  const [part] = await Array.fromAsync(
    readDocument('pdf', { content, bytes: content.length, charset: null, chunkCharacters: 2000 }),
  );
  assert.ok(part !== undefined && 'document' in part);
  return part.document.text;
};

describe('readPdf with composite fonts that are not embedded', () => {
  const predefined: [string, string, string, (text: string) => string][] = [
    ['UniGB-UCS2-H', 'GB1', '知识库的文档', utf16Codes],
    ['GBK-EUC-H', 'GB1', '知识库的文档', (text) => doubleByteCodes(text, 'gbk')],
    ['UniCNS-UCS2-H', 'CNS1', '知識庫的文件', utf16Codes],
    ['ETen-B5-H', 'CNS1', '知識庫的文件', (text) => doubleByteCodes(text, 'big5')],
    ['90ms-RKSJ-H', 'Japan1', '日本語の文書です', (text) => doubleByteCodes(text, 'shift_jis')],
    ['UniJIS-UTF16-H', 'Japan1', '日本語の文書です', utf16Codes],
    ['KSCms-UHC-H', 'Korea1', '한국어문서', (text) => doubleByteCodes(text, 'euc-kr')],
  ];
  for (const [encoding, ordering, text, codes] of predefined) {
    it(`maps characters by the predefined CMap ${encoding}`, async () => {
      assert.equal(await read({ encoding, ordering }, codes(text)), text);
    });
  }

  it('maps CIDs of a character collection, also in vertical text', async () => {
    const identifiers = [843, 845, 847, 849, 851].map((cid) => cid.toString(16).padStart(4, '0')).join('');
    assert.equal(await read({ encoding: 'Identity-H', ordering: 'Japan1' }, identifiers), 'あいうえお');
    assert.equal(
      await read({ encoding: 'UniJIS-UTF16-V', ordering: 'Japan1' }, utf16Codes('縦書きの文')),
      '縦書きの文',
    );
  });
});

describe('fontSize', () => {
  it('falls back to the average letter width for an implausible height', () => {
    const transform = [58, 0, 0, 0.24, 70, 420];
    assert.equal(fontSize({ str: 'Transfer', width: 48, height: 0.24, transform }), 6);
    assert.equal(fontSize({ str: 'Transfer', width: 48, height: 11, transform }), 11);
    assert.equal(fontSize({ str: 'Transfer', width: 48, height: 0, transform: [11, 0, 0, 11, 70, 420] }), 11);
  });
});
