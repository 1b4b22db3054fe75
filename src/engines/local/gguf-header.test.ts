import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
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

  it('passes a header whose counts the file has room for', async () => {
    await checkGgufHeader(write(header(3, 30n, 40n)));
    await checkGgufHeader(write(header(2, 0n, 0n)));
  });

  it('says what is wrong with a file that is none', async () => {
    await assert.rejects(checkGgufHeader(write(Buffer.from('GGUF'))), /only 4 bytes/);
    await assert.rejects(checkGgufHeader(write(Buffer.from('<!DOCTYPE html><html lang="en">'))), /does not begin/);
    await assert.rejects(checkGgufHeader(write(Buffer.from('GGUF and no more than that'))), /version is 1684955424/);
    await assert.rejects(checkGgufHeader(write(header(4, 1n, 1n))), /version is 4/);
  });

  it('refuses counts beyond the size of the file, whichever overflows', async () => {
    await assert.rejects(checkGgufHeader(write(header(3, 1n, 77n))), /counts 78 entries/);
    await assert.rejects(checkGgufHeader(write(header(3, 2n ** 64n - 1n, 2n ** 64n - 1n))), /more than its 1000 bytes/);
  });
});
