import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { GgufFileInfo } from 'node-llama-cpp';
import { detectGgufUse } from './gguf-use.ts';

describe('detectGgufUse', () => {
  const use = (architecture: string, pooling?: number, more: { type?: string; tensor?: string } = {}) =>
    detectGgufUse({
      metadata: { general: { architecture, ...(more.type === undefined ? {} : { type: more.type }) } },
      architectureMetadata: pooling === undefined ? {} : { pooling_type: pooling },
      tensorInfo: [{ name: more.tensor ?? 'token_embd.weight' }],
    } as unknown as GgufFileInfo);

  it('detects the purpose by architecture, pooling and head', () => {
    assert.equal(use('llama'), 'generation');
    assert.equal(use('qwen3', 0), 'generation');
    assert.equal(use('qwen3', 3), 'embedding');
    assert.equal(use('bert', 2), 'embedding');
    assert.equal(use('nomic-bert'), 'embedding');
    assert.equal(use('bert', 4), 'rerank');
    assert.equal(use('bert', undefined, { tensor: 'cls.output.weight' }), 'rerank');
  });
  it('is null for model components and other modalities', () => {
    assert.equal(use('llama', undefined, { type: 'adapter' }), null);
    assert.equal(use('clip', undefined, { type: 'mmproj' }), null);
    assert.equal(use('t5'), null);
  });
});
