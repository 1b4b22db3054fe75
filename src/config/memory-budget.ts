/** Memory budget of each component by the memory limit of the process; `docs/use/operations.md` has the table. */
import type { MemoryLimit } from '../lib/memory-limit.ts';
import { OperatorError } from '../lib/operator-error.ts';

/** Memory per component. `null`: the default of the component, on large machines. */
export interface MemoryBudget {
  /** V8 old space of the service process. */
  mainHeapMb: number | null;
  /** V8 semi-space. A gateway call allocates 90 KB: 32 MB halves the scavenges of 16 MB for 50 MB under load. */
  mainYoungHeapMb: number;
  /** Largest JSON body. Parsed, it takes several times its size on the heap. */
  maxBodyMb: number;
  /** V8 old space of each model host, without weights and contexts. */
  hostHeapMb: number | null;
  /** Memory for the contexts of a model host. KV caches take a quarter to a half of it. */
  modelContextMb: number | null;
  /** Number of extraction processes, and of documents ingested concurrently (at least two). */
  readers: number;
  /** V8 old space of an extraction process. */
  readerHeapMb: number;
  /** Memory of an extraction process outside the heap: the file and its decompressed contents. */
  readerBufferMb: number;
  /** LanceDB caches of index pages and metadata. */
  indexCacheMb: number;
  indexMetadataCacheMb: number;
}

/**
 * Minimum limit for a start. Peak use is the first start, which creates the embedded database; with less memory the
 * kernel kills the process.
 */
export const MIN_MEMORY_MB = 640;
/** Below this limit the service starts with a warning: large documents are rejected, and requests queue. */
export const RECOMMENDED_MEMORY_MB = 2_048;

/** Budgets by their minimum limit in MB, measured as described in `docs/use/operations.md`. */
const BUDGETS: readonly (readonly [fromMb: number, budget: MemoryBudget])[] = [
  [
    0,
    {
      mainHeapMb: 288,
      mainYoungHeapMb: 4,
      maxBodyMb: 16,
      hostHeapMb: 96,
      modelContextMb: 128,
      readers: 1,
      readerHeapMb: 96,
      readerBufferMb: 64,
      indexCacheMb: 8,
      indexMetadataCacheMb: 4,
    },
  ],
  [
    1_024,
    {
      mainHeapMb: 384,
      mainYoungHeapMb: 8,
      maxBodyMb: 24,
      hostHeapMb: 128,
      modelContextMb: 384,
      readers: 1,
      readerHeapMb: 192,
      readerBufferMb: 128,
      indexCacheMb: 48,
      indexMetadataCacheMb: 16,
    },
  ],
  [
    2_048,
    {
      mainHeapMb: 768,
      mainYoungHeapMb: 16,
      maxBodyMb: 48,
      hostHeapMb: 256,
      modelContextMb: 512,
      readers: 2,
      readerHeapMb: 256,
      readerBufferMb: 256,
      indexCacheMb: 128,
      indexMetadataCacheMb: 32,
    },
  ],
  [
    4_096,
    {
      mainHeapMb: 1_536,
      mainYoungHeapMb: 32,
      maxBodyMb: 64,
      hostHeapMb: null,
      modelContextMb: 1_024,
      readers: 3,
      readerHeapMb: 384,
      readerBufferMb: 448,
      indexCacheMb: 256,
      indexMetadataCacheMb: 64,
    },
  ],
  [
    8_192,
    {
      mainHeapMb: null,
      mainYoungHeapMb: 32,
      maxBodyMb: 512,
      hostHeapMb: null,
      modelContextMb: null,
      readers: 4,
      readerHeapMb: 512,
      readerBufferMb: 768,
      indexCacheMb: 512,
      indexMetadataCacheMb: 128,
    },
  ],
];

/** Bytes per MB. */
const MB = 1_048_576;

/** Returns the budget of a memory limit. */
export function planMemory(limitBytes: number): MemoryBudget {
  const entry = BUDGETS.findLast(([fromMb]) => limitBytes >= fromMb * MB) ?? BUDGETS[0];
  return (entry as (typeof BUDGETS)[number])[1];
}

/**
 * Growth of the heap between two major collections, in percent of the live heap after the last one. V8 lets a small
 * heap grow four times as large: a batch of 50,000 lines then takes up to 229 MB above idle instead of 88 MB
 * (bench/results/batches.md).
 */
const HEAP_GROWING_PERCENT = 100;

/** Returns the V8 flags of the service process. V8 reads them only at process start. */
export function heapFlags({ mainHeapMb, mainYoungHeapMb }: MemoryBudget): string[] {
  return [
    `--max-semi-space-size=${mainYoungHeapMb}`,
    `--heap-growing-percent=${HEAP_GROWING_PERCENT}`,
    ...(mainHeapMb === null ? [] : [`--max-old-space-size=${mainHeapMb}`]),
  ];
}

/** Whether the limit is below the recommendation. Throws an `OperatorError` below the minimum. */
export function isMemoryShort({ bytes, source }: MemoryLimit): boolean {
  if (bytes < MIN_MEMORY_MB * MB) {
    throw new OperatorError(
      `Quire needs at least ${MIN_MEMORY_MB} MB of memory, but its limit is ${Math.floor(bytes / MB)} MB (${source}). Raise that limit.`,
    );
  }
  return bytes < RECOMMENDED_MEMORY_MB * MB;
}
