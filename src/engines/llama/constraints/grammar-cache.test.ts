import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { factorGrammar } from '@quire/json-schema-grammar';
import { invalidValue } from '../../../errors.ts';
import { toErrorFacts } from '../../../lib/error-facts.ts';
import { GrammarCache, grammarKey } from './grammar-cache.ts';

const rejection = { rejection: toErrorFacts(invalidValue('response_format', 'is bad')) };
/** Bytes of a cached rejection. */
const REJECTION_BYTES = 1_024;

describe('GrammarCache', () => {
  it('evicts the least recently used entry of the organization with the most bytes', () => {
    const cache = new GrammarCache(4 * REJECTION_BYTES);
    cache.set('quiet', rejection, 'b');
    for (const key of ['a1', 'a2', 'a3']) cache.set(key, rejection, 'a');
    cache.get('a1');
    for (const key of ['a4', 'a5']) cache.set(key, rejection, 'a');
    const cached = ['quiet', 'a1', 'a2', 'a3', 'a4', 'a5'].filter((key) => cache.get(key) !== undefined);
    assert.deepEqual(cached, ['quiet', 'a1', 'a4', 'a5']);
  });

  it('counts an entry once that is set twice, and the bytes of a grammar', () => {
    const cache = new GrammarCache(3 * REJECTION_BYTES);
    for (let i = 0; i < 5; i++) cache.set('same', rejection, 'a');
    cache.set('other', rejection, 'a');
    assert.equal(cache.get('same'), rejection);
    const grammar = factorGrammar(`root ::= "${'x'.repeat(3_000)}"`, 'response_format');
    cache.set('large', { grammar }, 'a');
    assert.equal(cache.get('large'), undefined);
  });

  it('has a key for each source', () => {
    const keyOf = (grammar: string) => grammarKey({ kind: 'format', format: { type: 'grammar', grammar } });
    assert.equal(keyOf('root ::= "a"'), keyOf('root ::= "a"'));
    assert.notEqual(keyOf('root ::= "a"'), keyOf('root ::= "b"'));
  });
});
