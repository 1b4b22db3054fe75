/** Part of the free memory that contexts may take where their size is ours to choose. The rest is for everyone else. */
const DEFAULT_MEMORY_FRACTION = 0.5;
/** The same for more contexts than a few: they are good to have, not needed. */
const EXTRA_SLOTS_MEMORY_FRACTION = 0.25;
/** Part of the free memory beyond which a context that was asked for is refused: the machine would kill us for it. */
export const MAX_MEMORY_FRACTION = 0.9;
/** Where nobody chose, contexts are rather shorter than the model allows than fewer than this many. */
const FALLBACK_SLOTS = 4;
/** But not shorter than this many tokens: then there are fewer of them. */
const SHORT_CONTEXT_TOKENS = 4_096;
/** A context of fewer tokens is no use. */
const MIN_CONTEXT_TOKENS = 256;

/** What a context should be. */
export interface ContextRequest {
  /** Tokens that the model was trained on. */
  trainedTokens: number;
  /** Tokens that the operator asks for; null: as many as there is memory for. */
  contextTokens: number | null;
  /** Sequences that the operator asks for; null: as many as are worthwhile and there is memory for. */
  slots: number | null;
  usefulSlots: number;
}

/** A context that there is memory for. Each sequence has `contextTokens` of its own. */
export interface ContextSize {
  contextTokens: number;
  slots: number;
}

/** Bytes of memory that a context of this size takes. */
export type EstimateMemory = (size: ContextSize) => Promise<number>;

/**
 * The size of a context for the memory that is free. Throws an Error that says how much is needed, and how much there
 * is, when what was asked for is too much: before anything is allocated.
 */
export async function fitContext(
  wish: ContextRequest,
  freeBytes: number,
  memoryOf: EstimateMemory,
): Promise<ContextSize> {
  const tokens = Math.min(wish.contextTokens ?? wish.trainedTokens, wish.trainedTokens);
  const counts = wish.slots === null ? halvingCounts(wish.usefulSlots) : [wish.slots];
  for (const slots of counts) {
    const size = { contextTokens: tokens, slots };
    const isSpare = wish.slots === null && slots > FALLBACK_SLOTS;
    const share = freeBytes * (isSpare ? EXTRA_SLOTS_MEMORY_FRACTION : DEFAULT_MEMORY_FRACTION);
    if ((await memoryOf(size)) <= share) return size;
    if (wish.contextTokens !== null || isSpare) continue;
    const shorter = await shorten(size, share, memoryOf);
    const least = slots === 1 || wish.slots !== null ? MIN_CONTEXT_TOKENS : SHORT_CONTEXT_TOKENS;
    if (shorter.contextTokens >= least) return shorter;
  }
  const asked = { contextTokens: wish.contextTokens === null ? MIN_CONTEXT_TOKENS : tokens, slots: counts.at(-1) ?? 1 };
  const bytes = await memoryOf(asked);
  if (bytes <= freeBytes * MAX_MEMORY_FRACTION) return asked;
  throw new Error(
    `${asked.slots} context${asked.slots === 1 ? '' : 's'} of ${asked.contextTokens} tokens need ` +
      `${gigabytes(bytes)} of memory, and ${gigabytes(freeBytes)} are free`,
  );
}

function halvingCounts(most: number): number[] {
  const counts: number[] = [];
  for (let count = most; count > 1; count = Math.floor(count / 2)) counts.push(count);
  return [...counts, 1];
}

/** The longest context that a share of the memory holds: what one takes grows in a straight line with its tokens. */
async function shorten(size: ContextSize, share: number, memoryOf: EstimateMemory): Promise<ContextSize> {
  const half = { ...size, contextTokens: Math.ceil(size.contextTokens / 2) };
  const [whole, less] = [await memoryOf(size), await memoryOf(half)];
  const bytesPerToken = (whole - less) / Math.max(1, size.contextTokens - half.contextTokens);
  const fitting = size.contextTokens - (whole - share) / Math.max(1, bytesPerToken);
  // llama.cpp rounds up to so many cells.
  return { ...size, contextTokens: Math.max(0, Math.floor(fitting / 256) * 256) };
}

function gigabytes(bytes: number): string {
  return `${(bytes / 2 ** 30).toFixed(bytes < 2 ** 30 ? 2 : 1)} GiB`;
}
