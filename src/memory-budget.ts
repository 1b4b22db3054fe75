/** How much memory each part of Quire may take, by the memory limit of the process. Pure; `docs/operations.md` shows the table. */
import type { MemoryLimit } from './lib/memory-limit.ts';
import { OperatorError } from './lib/operator-error.ts';

/** What the parts may take. `null`: the part's own default, for machines with room to spare. */
export interface MemoryBudget {
  /** V8's old space of the service process. */
  mainHeapMb: number | null;
  /** Each half of V8's young space of the service process. */
  mainYoungHeapMb: number;
  /** Largest JSON body: parsed, it takes several times its size of the heap. */
  maxBodyMb: number;
  /** V8's old space of each model host; weights and contexts lie outside of it. */
  hostHeapMb: number | null;
  /** Memory that a model host fits its contexts into: their KV caches take a quarter to a half of it. */
  modelContextMb: number | null;
  /** Processes that read documents, and documents that are ingested at the same time (never fewer than two). */
  readers: number;
  /** V8's old space of a reader. */
  readerHeapMb: number;
  /** What a reader may take outside of its heap: the file and what is unpacked of it. */
  readerBufferMb: number;
  /** LanceDB's caches: parts of indexes, and where rows lie. */
  indexCacheMb: number;
  indexMetadataCacheMb: number;
}

/**
 * Below this limit the service does not start: the kernel would kill it. The peak is the first start, in which the
 * embedded database is created.
 */
export const MINIMUM_MB = 768;
/** Below this limit the service starts with a warning: large documents are rejected and answers queue. */
export const RECOMMENDED_MB = 2_048;

/** Budgets by the smallest limit that each is for, in MB. Measured as described in `docs/operations.md`. */
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
      mainYoungHeapMb: 16,
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
      mainYoungHeapMb: 16,
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

/** Bytes of a MB in this file. */
const MB = 1_048_576;

/** The budget for a memory limit in bytes. */
export function planMemory(limitBytes: number): MemoryBudget {
  const found = BUDGETS.findLast(([fromMb]) => limitBytes >= fromMb * MB) ?? BUDGETS[0];
  return (found as (typeof BUDGETS)[number])[1];
}

/** V8's flags for the service process, read only when a process begins. */
export function heapFlags({ mainHeapMb, mainYoungHeapMb }: MemoryBudget): string[] {
  return [
    `--max-semi-space-size=${mainYoungHeapMb}`,
    ...(mainHeapMb === null ? [] : [`--max-old-space-size=${mainHeapMb}`]),
  ];
}

/** Whether there is less memory than recommended. Throws a `OperatorError` where there is less than the minimum. */
export function isMemoryShort({ bytes, source }: MemoryLimit): boolean {
  if (bytes < MINIMUM_MB * MB) {
    throw new OperatorError(
      `Quire needs at least ${MINIMUM_MB} MB of memory, and it may use ${Math.floor(bytes / MB)} MB (${source}): raise that limit.`,
    );
  }
  return bytes < RECOMMENDED_MB * MB;
}
