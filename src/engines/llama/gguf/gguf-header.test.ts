import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { writeTinyGguf } from '../../../../test/fixtures/tiny-gguf.ts';
import { checkGgufHeader } from './gguf-header.ts';

describe('checkGgufHeader', () => {
  const folder = mkdtempSync(join(tmpdir(), 'quire-gguf-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const write = (bytes: Buffer) => {
    const path = join(folder, 'model.gguf');
    writeFileSync(path, bytes);
    return path;
  };
  const header = (version: number, tensors: bigint, pairs: bigint, size = 1000) => {
    const bytes = Buffer.alloc(size);
    bytes.write('GGUF');
    bytes.writeUInt32LE(version, 4);
    bytes.writeBigUInt64LE(tensors, 8);
    bytes.writeBigUInt64LE(pairs, 16);
    return bytes;
  };

  it('accepts a valid header of any version', async () => {
    await checkGgufHeader(writeTinyGguf(join(folder, 'tiny.gguf')));
    await checkGgufHeader(write(header(2, 0n, 0n)));
  });
  it('rejects a header truncated at any position', async () => {
    const whole = readFileSync(writeTinyGguf(join(folder, 'tiny.gguf')));
    const end = whole.indexOf('blk.0.ffn_down.weight') + 'blk.0.ffn_down.weight'.length + 32;
    for (let length = 0; length < end; length += 1 + Math.floor(length / 12)) {
      await assert.rejects(checkGgufHeader(write(whole.subarray(0, length))), /^Error: (it|its header) /);
    }
  });
  it('rejects lengths, lists and tensors beyond the file size, and unknown types', async () => {
    const whole = readFileSync(writeTinyGguf(join(folder, 'tiny.gguf')));
    const changed = (text: string, at: number, change: (bytes: Buffer, from: number) => void) => {
      const bytes = Buffer.from(whole);
      change(bytes, bytes.indexOf(text) + text.length + at);
      return checkGgufHeader(write(bytes));
    };
    const u64 = (value: bigint) => (bytes: Buffer, from: number) => bytes.writeBigUInt64LE(value, from);
    const u32 = (value: number) => (bytes: Buffer, from: number) => bytes.writeUInt32LE(value, from);
    await assert.rejects(changed('GGUF', 20, u64(2n ** 63n)), /a key of 9223372036854775808 bytes/);
    await assert.rejects(changed('general.name', 4, u64(2n ** 40n)), /ends before 1099511627776 bytes/);
    await assert.rejects(changed('general.name', 0, u32(77)), /unknown type 77/);
    await assert.rejects(changed('tokenizer.ggml.tokens', 8, u64(2n ** 60n)), /ends before a list of/);
    await assert.rejects(changed('tokenizer.ggml.scores', 8, u64(2n ** 63n)), /ends before/);
    await assert.rejects(changed('token_embd.weight', 0, u32(9)), /a tensor of 9 dimensions/);
    await assert.rejects(changed('token_embd.weight', 4, u64(2n ** 61n)), /a tensor of \d+ numbers/);
    await assert.rejects(changed('output_norm.weight', 16, u64(2n ** 60n)), /a tensor at byte 1152921504606846976/);
  });
  it('reports a big-endian file', async () => {
    const bytes = header(3, 0n, 0n);
    bytes.writeUInt32BE(3, 4);
    await assert.rejects(checkGgufHeader(write(bytes)), /big-endian/);
  });

  it('reports what is wrong with a file that is not a GGUF', async () => {
    await assert.rejects(checkGgufHeader(write(Buffer.from('GGUF'))), /only 4 bytes/);
    await assert.rejects(checkGgufHeader(write(Buffer.from('<!DOCTYPE html><html lang="en">'))), /GGUF magic/);
    await assert.rejects(checkGgufHeader(write(Buffer.from('GGUF and no more than that'))), /version is 1684955424/);
    await assert.rejects(checkGgufHeader(write(header(4, 1n, 1n))), /version is 4/);
  });

  it('rejects counts beyond the file size, even if they overflow', async () => {
    await assert.rejects(checkGgufHeader(write(header(3, 1n, 77n))), /counts 78 entries/);
    await assert.rejects(checkGgufHeader(write(header(3, 2n ** 64n - 1n, 2n ** 64n - 1n))), /more than its 1000 bytes/);
  });
});
