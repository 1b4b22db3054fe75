import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { writeTinyGguf } from '../../../../test/fixtures/tiny-gguf.ts';
import { readGgufFacts } from './gguf-facts.ts';

const FOLDER = mkdtempSync(join(tmpdir(), 'quire-facts-'));
process.once('exit', () => rmSync(FOLDER, { recursive: true, force: true }));

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function u64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

function text(value: string): Buffer {
  return Buffer.concat([u64(Buffer.byteLength(value)), Buffer.from(value)]);
}

/** Writes a GGUF with these metadata (texts and integers) and tensors of 32 numbers. */
function gguf(values: Record<string, string | number>, tensors: readonly string[] = ['token_embd.weight']): string {
  const pairs = Object.entries(values).map(([key, value]) =>
    Buffer.concat([text(key), ...(typeof value === 'string' ? [u32(8), text(value)] : [u32(4), u32(value)])]),
  );
  const described = tensors.map((name, at) => Buffer.concat([text(name), u32(1), u64(32), u32(0), u64(at * 128)]));
  const head = [Buffer.from('GGUF'), u32(3), u64(tensors.length), u64(pairs.length), ...pairs, ...described];
  const file = join(FOLDER, 'model.gguf');
  writeFileSync(file, Buffer.concat([...head, Buffer.alloc(32 + tensors.length * 128)]));
  return file;
}

describe('GGUF metadata', () => {
  it('has architecture, name, size, context length and purpose', async () => {
    assert.deepEqual(await readGgufFacts(writeTinyGguf(join(FOLDER, 'tiny.gguf'), { contextTokens: 256 })), {
      architecture: 'llama',
      use: 'generation',
      name: 'tiny',
      parameters: 644_736,
      contextTokens: 256,
    });
    const bare = await readGgufFacts(gguf({ 'general.architecture': 'qwen3' }));
    assert.deepEqual(bare, {
      architecture: 'qwen3',
      use: 'generation',
      name: null,
      parameters: 32,
      contextTokens: null,
    });
  });

  it('distinguishes embedding, rerank and generation models', async () => {
    const cases: [Record<string, string | number>, string[], string][] = [
      [{ 'general.architecture': 'bert' }, ['token_embd.weight'], 'embedding'],
      [{ 'general.architecture': 'qwen3', 'qwen3.pooling_type': 3 }, ['token_embd.weight'], 'embedding'],
      [{ 'general.architecture': 'bert', 'bert.pooling_type': 4 }, ['token_embd.weight'], 'rerank'],
      [{ 'general.architecture': 'bert' }, ['token_embd.weight', 'cls.output.weight'], 'rerank'],
    ];
    for (const [values, tensors, use] of cases) {
      assert.equal((await readGgufFacts(gguf(values, tensors))).use, use, JSON.stringify(values));
    }
  });

  it('rejects files that Quire cannot use', async () => {
    const llama = { 'general.architecture': 'llama' };
    await assert.rejects(readGgufFacts(gguf({ 'general.name': 'x' })), /no architecture in its metadata/);
    await assert.rejects(readGgufFacts(gguf({ 'general.architecture': 'lmama' })), /'lmama' is not supported/);
    await assert.rejects(readGgufFacts(gguf({ ...llama, 'split.count': 3 })), /one of 3 parts/);
    await assert.rejects(
      readGgufFacts(gguf({ ...llama, 'general.type': 'adapter' })),
      /not a complete text model \(adapter\)/,
    );
    await assert.rejects(readGgufFacts(gguf({ 'general.architecture': 'clip' })), /not a complete text model/);
    await assert.rejects(readGgufFacts(gguf(llama, [])), /contains no weights/);
  });
});
