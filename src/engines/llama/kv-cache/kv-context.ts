import { rm, writeFile } from 'node:fs/promises';
import type { LlamaContext } from 'node-llama-cpp';
import { decode, loadSequence, saveSequence, truncate } from '../runtime/bindings.ts';
import { convertSnapshot, readSnapshotSlots } from './snapshot-format.ts';

/** Slots of a context that grows on demand, at first. */
export const INITIAL_SLOTS = 1;
/** A context that grows gets this many times as many slots: each growth allocates a context and copies all slots. */
const GROWTH_FACTOR = 4;

/** How contexts of one model are made. */
export interface KvContextOptions {
  /** The most slots that there is memory for. */
  capacity: number;
  create(slots: number): Promise<LlamaContext>;
  /** Whether a context with that number of slots fits into the free memory. */
  fits(slots: number): Promise<boolean>;
}

/** What a slot holds, and the slot of the next context that it moves to. */
export interface SlotMove {
  from: number;
  to: number;
  tokens: readonly number[];
}

/**
 * The llama.cpp context of a model. llama.cpp allocates the KV cache of all slots with the context, so the number of
 * slots changes by replacing the context: the states of slots move through files, which keeps every bit of them.
 */
export class KvContext {
  readonly capacity: number;
  readonly #options: KvContextOptions;
  #current: LlamaContext;

  private constructor(options: KvContextOptions, first: LlamaContext) {
    this.#options = options;
    this.capacity = options.capacity;
    this.#current = first;
  }

  static async create(options: KvContextOptions, slots: number): Promise<KvContext> {
    return new KvContext(options, await options.create(slots));
  }

  /** The context of now. `resize` replaces it, so nobody may keep it across a step. */
  get current(): LlamaContext {
    return this.#current;
  }

  /** Slots that are allocated. */
  get slots(): number {
    return this.#current.totalSequences;
  }

  /**
   * Whether slots of this model can move to another context: its memory is one plain KV cache. Computes one token in
   * slot 0. `scratchPath` names a file that does not exist.
   */
  async supportsResize(scratchPath: () => string): Promise<boolean> {
    const path = scratchPath();
    const token = this.#current.model.tokens.bos ?? 0;
    try {
      await createPrivate(path);
      await decode(this.#current, [{ slot: 0, position: 0, tokens: [token], outputs: [] }]);
      await saveSequence(this.#current, 0, [token], path);
      return (await readSnapshotSlots(path)) === this.slots;
    } catch {
      // The model decides: without a state that can be read, all slots are allocated at once.
      return false;
    } finally {
      truncate(this.#current, 0, 0);
      await rm(path, { force: true });
    }
  }

  /**
   * Replaces the context by one with `slots` slots and moves what slots hold, which `supportsResize` must allow. Throws
   * when there is not enough memory for a context or a slot cannot be moved: then nothing has changed. Only between two
   * calls of `decode`.
   */
  async resize(slots: number, moves: readonly SlotMove[] = [], scratchPath = noScratchPath): Promise<void> {
    if (slots > this.slots && !(await this.#options.fits(slots))) throw new Error('not enough free memory');
    const next = await this.#options.create(slots);
    try {
      for (const move of moves) await this.#move(move, next, scratchPath);
    } catch (error) {
      await next.dispose();
      throw error;
    }
    const previous = this.#current;
    this.#current = next;
    await previous.dispose();
  }

  async #move({ from, to, tokens }: SlotMove, next: LlamaContext, scratchPath: () => string): Promise<void> {
    const [saved, converted] = [scratchPath(), scratchPath()];
    try {
      await createPrivate(saved);
      await saveSequence(this.#current, from, tokens, saved);
      await convertSnapshot(saved, converted, next.totalSequences);
      const moved = await loadSequence(next, to, converted);
      if (moved.length !== tokens.length) throw new Error(`${moved.length} of ${tokens.length} tokens moved`);
    } finally {
      await rm(saved, { force: true });
      await rm(converted, { force: true });
    }
  }
}

/** Creates a file that other users cannot read, as llama.cpp would not. */
async function createPrivate(path: string): Promise<void> {
  await writeFile(path, '', { flag: 'wx', mode: 0o600 });
}

function noScratchPath(): string {
  throw new Error('slots move through files');
}

/** How many slots a context should have that has `slots`, where `needed` are, and may have `capacity`. */
export function grownSlots(slots: number, needed: number, capacity: number): number {
  let count = slots;
  while (count < needed) count *= GROWTH_FACTOR;
  return Math.min(capacity, count);
}
