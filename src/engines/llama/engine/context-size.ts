/** Fraction of the free memory for contexts whose size Quire chooses. The rest is for other programs. */
const DEFAULT_MEMORY_FRACTION = 0.5;
/** Fraction of the free memory for contexts with more than `FEW_SLOTS` slots. */
const EXTRA_SLOTS_MEMORY_FRACTION = 0.25;
/** Fraction of the free memory above which a configured context is rejected: the kernel would kill the process. */
export const MAX_MEMORY_FRACTION = 0.9;
/** Slots below which Quire shortens the context rather than allocating fewer slots, unless configured. */
const FEW_SLOTS = 4;
/** Tokens below which Quire allocates fewer slots rather than shortening the context further. */
const SHORT_CONTEXT_TOKENS = 4_096;
/** Minimum context length in tokens. */
const MIN_CONTEXT_TOKENS = 256;

/** Requested size of a context. */
export interface ContextRequest {
  /** Tokens that the model was trained on. */
  trainedTokens: number;
  /** Configured tokens; null: as many as fit into memory. */
  contextTokens: number | null;
  /** Configured slots; null: as many as are useful and fit into memory. */
  slots: number | null;
  usefulSlots: number;
}

/** A context that fits into memory. Each slot has `contextTokens` of its own. */
export interface ContextSize {
  contextTokens: number;
  slots: number;
}

/** Returns the bytes of a context of this size. */
export type EstimateMemory = (size: ContextSize) => Promise<number>;

/**
 * Returns the size of a context for the free memory. Throws an Error with the needed and the free memory when a
 * configured size does not fit. Allocates nothing.
 */
export async function fitContext(
  request: ContextRequest,
  freeBytes: number,
  memoryOf: EstimateMemory,
): Promise<ContextSize> {
  const tokens = Math.min(request.contextTokens ?? request.trainedTokens, request.trainedTokens);
  const counts = request.slots === null ? halvingCounts(request.usefulSlots) : [request.slots];
  for (const slots of counts) {
    const size = { contextTokens: tokens, slots };
    const isSpare = request.slots === null && slots > FEW_SLOTS;
    const share = freeBytes * (isSpare ? EXTRA_SLOTS_MEMORY_FRACTION : DEFAULT_MEMORY_FRACTION);
    if ((await memoryOf(size)) <= share) return size;
    if (request.contextTokens !== null || isSpare) continue;
    const shorter = await shorten(size, share, memoryOf);
    const least = slots === 1 || request.slots !== null ? MIN_CONTEXT_TOKENS : SHORT_CONTEXT_TOKENS;
    if (shorter.contextTokens >= least) return shorter;
  }
  const minimum = {
    contextTokens: request.contextTokens === null ? MIN_CONTEXT_TOKENS : tokens,
    slots: counts.at(-1) ?? 1,
  };
  const bytes = await memoryOf(minimum);
  if (bytes <= freeBytes * MAX_MEMORY_FRACTION) return minimum;
  throw new Error(
    `${minimum.slots} context${minimum.slots === 1 ? '' : 's'} of ${minimum.contextTokens} tokens need ` +
      `${gigabytes(bytes)} of memory, and ${gigabytes(freeBytes)} are free`,
  );
}

function halvingCounts(most: number): number[] {
  const counts: number[] = [];
  for (let count = most; count > 1; count = Math.floor(count / 2)) counts.push(count);
  return [...counts, 1];
}

/** Returns the longest context that fits into `share` bytes. The memory grows linearly with the tokens. */
async function shorten(size: ContextSize, share: number, memoryOf: EstimateMemory): Promise<ContextSize> {
  const half = { ...size, contextTokens: Math.ceil(size.contextTokens / 2) };
  const [whole, less] = [await memoryOf(size), await memoryOf(half)];
  const bytesPerToken = (whole - less) / Math.max(1, size.contextTokens - half.contextTokens);
  const fitting = size.contextTokens - (whole - share) / Math.max(1, bytesPerToken);
  // llama.cpp rounds the context up to a multiple of this.
  return { ...size, contextTokens: Math.max(0, Math.floor(fitting / 256) * 256) };
}

function gigabytes(bytes: number): string {
  return `${(bytes / 2 ** 30).toFixed(bytes < 2 ** 30 ? 2 : 1)} GiB`;
}
