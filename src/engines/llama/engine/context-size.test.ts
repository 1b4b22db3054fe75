import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ContextRequest, type ContextSize, fitContext } from './context-size.ts';

const KIB = 1024;
/** 100 MiB plus 128 KiB per token: a model of eight billion parameters. */
const memoryOf = async ({ contextTokens, slots }: ContextSize) => 100 * KIB ** 2 + contextTokens * slots * 128 * KIB;
const fit = (gigabytes: number, request: Partial<ContextRequest> = {}) =>
  fitContext(
    { trainedTokens: 131_072, contextTokens: null, slots: null, usefulSlots: 16, ...request },
    gigabytes * KIB ** 3,
    memoryOf,
  );

describe('context size', () => {
  it('has all useful slots and the full length if memory allows', async () => {
    assert.deepEqual(await fit(10_000), { contextTokens: 131_072, slots: 16 });
  });
  it('has fewer slots when memory is short, then shorter ones, then fewer again', async () => {
    assert.deepEqual(await fit(600), { contextTokens: 131_072, slots: 8 });
    const eleven = await fit(11);
    assert.equal(eleven.slots, 4);
    assert.ok(eleven.contextTokens > 10_500 && eleven.contextTokens < 11_100);
    assert.ok((await memoryOf(eleven)) <= 5.5 * KIB ** 3);
    assert.deepEqual((await fit(3)).slots, 2);
    assert.deepEqual((await fit(1)).slots, 1);
  });
  it('keeps the configured length, with fewer slots', async () => {
    assert.deepEqual(await fit(20, { contextTokens: 16_384 }), { contextTokens: 16_384, slots: 4 });
    assert.deepEqual(await fit(3, { contextTokens: 16_384 }), { contextTokens: 16_384, slots: 1 });
    assert.deepEqual(await fit(2.5, { contextTokens: 16_384 }), { contextTokens: 16_384, slots: 1 });
  });
  it('keeps the configured slots, with shorter contexts', async () => {
    const size = await fit(11, { slots: 8 });
    assert.equal(size.slots, 8);
    assert.ok(size.contextTokens > 5_000 && size.contextTokens < 5_500);
  });
  it('never exceeds the training length', async () => {
    assert.equal((await fit(10_000, { contextTokens: 1_000_000 })).contextTokens, 131_072);
  });
  it('is rejected with numbers when the configured size does not fit', async () => {
    await assert.rejects(fit(2, { contextTokens: 131_072 }), {
      message: '1 context of 131072 tokens need 16.1 GiB of memory, and 2.0 GiB are free',
    });
    await assert.rejects(fit(10, { contextTokens: 16_384, slots: 8 }), /^Error: 8 contexts of 16384 tokens need 16\.1/);
    await assert.rejects(fit(0.1), /1 context of 256 tokens need 0\.13 GiB of memory, and 0\.10 GiB are free/);
  });
});
