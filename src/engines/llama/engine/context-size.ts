/** Part of the free memory that contexts may take where their size is ours to choose. The rest is for everyone else. */
const CHOSEN_PART = 0.5;
/** The same for more contexts than a few: they are good to have, not needed. */
const SPARE_PART = 0.25;
/** Part of the free memory beyond which a context that was asked for is refused: the machine would kill us for it. */
const REFUSED_PART = 0.9;
/** Where nobody chose, contexts are rather shorter than the model allows than fewer than this many. */
const FEW_SEQUENCES = 4;
/** But not shorter than this many tokens: then there are fewer of them. */
const SHORT_CONTEXT = 4_096;
/** A context of fewer tokens is no use. */
const LEAST_CONTEXT = 256;

/** What a context should be. */
export interface ContextWish {
  /** Tokens that the model was trained on. */
  trainedTokens: number;
  /** Tokens that the operator asks for; null: as many as there is memory for. */
  contextTokens: number | null;
  /** Sequences that the operator asks for; null: as many as are worthwhile and there is memory for. */
  sequences: number | null;
  worthwhileSequences: number;
}

/** A context that there is memory for. Each sequence has `contextTokens` of its own. */
export interface ContextSize {
  contextTokens: number;
  sequences: number;
}

/** Bytes of memory that a context of this size takes. */
export type MemoryOf = (size: ContextSize) => Promise<number>;

/**
 * The size of a context for the memory that is free. Throws an Error that says how much is needed, and how much there
 * is, when what was asked for is too much: before anything is allocated.
 */
export async function fitContext(wish: ContextWish, freeBytes: number, memoryOf: MemoryOf): Promise<ContextSize> {
  const tokens = Math.min(wish.contextTokens ?? wish.trainedTokens, wish.trainedTokens);
  const counts = wish.sequences === null ? fewerAndFewer(wish.worthwhileSequences) : [wish.sequences];
  for (const sequences of counts) {
    const size = { contextTokens: tokens, sequences };
    const isSpare = wish.sequences === null && sequences > FEW_SEQUENCES;
    const share = freeBytes * (isSpare ? SPARE_PART : CHOSEN_PART);
    if ((await memoryOf(size)) <= share) return size;
    if (wish.contextTokens !== null || isSpare) continue;
    const shorter = await shorten(size, share, memoryOf);
    const least = sequences === 1 || wish.sequences !== null ? LEAST_CONTEXT : SHORT_CONTEXT;
    if (shorter.contextTokens >= least) return shorter;
  }
  const asked = { contextTokens: wish.contextTokens === null ? LEAST_CONTEXT : tokens, sequences: counts.at(-1) ?? 1 };
  const bytes = await memoryOf(asked);
  if (bytes <= freeBytes * REFUSED_PART) return asked;
  throw new Error(
    `${asked.sequences} context${asked.sequences === 1 ? '' : 's'} of ${asked.contextTokens} tokens need ` +
      `${gigabytes(bytes)} of memory, and ${gigabytes(freeBytes)} are free`,
  );
}

function fewerAndFewer(most: number): number[] {
  const counts: number[] = [];
  for (let count = most; count > 1; count = Math.floor(count / 2)) counts.push(count);
  return [...counts, 1];
}

/** The longest context that a share of the memory holds: what one takes grows in a straight line with its tokens. */
async function shorten(size: ContextSize, share: number, memoryOf: MemoryOf): Promise<ContextSize> {
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
