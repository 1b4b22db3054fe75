import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { READER_BUFFER_MB, READER_HEAP_MB } from '../extraction/limits.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { heapFlags, isMemoryShort, MIN_MEMORY_MB, planMemory, RECOMMENDED_MEMORY_MB } from './memory-budget.ts';

const MB = 2 ** 20;
const LIMITS_MB = [MIN_MEMORY_MB, 1_023, 1_024, 2_047, 2_048, 4_095, 4_096, 8_191, 8_192, 65_536];
/** Memory of service, loaded bundled models and embedded database after eight chats, at the minimum limit. */
const IDLE_MB = 380;
/** Memory of a reader besides its heap and buffers. */
const READER_BASE_MB = 85;

describe('planMemory', () => {
  /** Limit; readers, heap of each, index caches, largest body, heap of the service. */
  const table: [number, number, number, number, number, number | null][] = [
    [MIN_MEMORY_MB, 1, 96, 8, 16, 288],
    [1_024, 1, 192, 48, 24, 384],
    [2_048, 2, 256, 128, 48, 768],
    [4_096, 3, 384, 256, 64, 1_536],
    [8_192, 4, READER_HEAP_MB, 512, 512, null],
    [65_536, 4, READER_HEAP_MB, 512, 512, null],
  ];
  for (const [limitMb, ...expected] of table) {
    it(`shares out ${limitMb} MB`, () => {
      const { readers, readerHeapMb, indexCacheMb, maxBodyMb, mainHeapMb } = planMemory(limitMb * MB);
      assert.deepEqual([readers, readerHeapMb, indexCacheMb, maxBodyMb, mainHeapMb], expected);
    });
  }

  it('no budget shrinks with a larger limit', () => {
    const budgets = LIMITS_MB.map((limitMb) => planMemory(limitMb * MB));
    for (const [i, budget] of budgets.entries()) {
      for (const [part, amount] of Object.entries(budgets[i - 1] ?? {})) {
        const more = budget[part as keyof typeof budget];
        assert.ok((more ?? Infinity) >= (amount ?? Infinity), `${part} at ${LIMITS_MB[i]} MB`);
      }
    }
  });

  it('the budgets of readers and caches and the idle service fit the limit', () => {
    for (const limitMb of LIMITS_MB) {
      const budget = planMemory(limitMb * MB);
      const { readers, readerHeapMb, readerBufferMb, indexCacheMb, indexMetadataCacheMb } = budget;
      const reader = READER_BASE_MB + readerHeapMb + readerBufferMb;
      const sum = IDLE_MB + readers * reader + indexCacheMb + indexMetadataCacheMb;
      assert.ok(sum <= limitMb, `${sum} of ${limitMb} MB`);
    }
  });

  it('uses the defaults on a large machine', () => {
    const { readerHeapMb, readerBufferMb, hostHeapMb, modelContextMb } = planMemory(8_192 * MB);
    assert.deepEqual(
      [readerHeapMb, readerBufferMb, hostHeapMb, modelContextMb],
      [READER_HEAP_MB, READER_BUFFER_MB, null, null],
    );
    assert.deepEqual(heapFlags(planMemory(8_192 * MB)), ['--max-semi-space-size=32', '--heap-growing-percent=100']);
    assert.deepEqual(heapFlags(planMemory(1_024 * MB)), [
      '--max-semi-space-size=8',
      '--heap-growing-percent=100',
      '--max-old-space-size=384',
    ]);
  });
});

describe('isMemoryShort', () => {
  const limit = (megabytes: number) => ({ bytes: megabytes * MB, source: '/sys/fs/cgroup/memory.max' });

  it('throws one sentence with the limit, its source and the minimum', () => {
    assert.throws(
      () => isMemoryShort(limit(512.5)),
      (error: unknown) =>
        error instanceof OperatorError &&
        error.message ===
          'Quire needs at least 640 MB of memory, but its limit is 512 MB (/sys/fs/cgroup/memory.max). Raise that limit.',
    );
  });

  it('is true between the minimum and the recommendation', () => {
    assert.equal(isMemoryShort(limit(MIN_MEMORY_MB)), true);
    assert.equal(isMemoryShort(limit(RECOMMENDED_MEMORY_MB - 1)), true);
    assert.equal(isMemoryShort(limit(RECOMMENDED_MEMORY_MB)), false);
  });
});
