import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { findPrefixes, prefixFor } from './embedding-prefixes.ts';

describe('findPrefixes', () => {
  const queryPrefix = (...names: (string | null)[]) => prefixFor(findPrefixes(...names), 'query');

  it('finds the prefixes of known models by either name', () => {
    assert.match(queryPrefix('bge-large-en-v1.5'), /^Represent this sentence/);
    assert.match(queryPrefix(null, 'bge-large-en-v1.5-q8_0.gguf'), /^Represent this sentence/);
    assert.equal(queryPrefix('Multilingual E5 Large'), 'query: ');
    assert.equal(prefixFor(findPrefixes('multilingual-e5-large'), 'document'), 'passage: ');
    assert.match(queryPrefix('Qwen3 Embedding 0.6B'), /^Instruct: .*\nQuery:$/);
    assert.equal(queryPrefix('snowflake-arctic-embed-l-v2.0'), 'query: ');
  });
  it('adds no prefix for unknown models and for texts without a purpose', () => {
    for (const name of ['bge-m3', 'gte-large', 'quire-embed-1', '', null]) assert.equal(queryPrefix(name), '');
    assert.equal(prefixFor(findPrefixes('multilingual-e5-large'), 'text'), '');
  });
});
