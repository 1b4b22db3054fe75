import { copySequence, truncate } from '../runtime/bindings.ts';
import type { KvContext } from './kv-context.ts';
import { type KvDiskCache, type KvSnapshot, scopeKey } from './kv-disk-cache.ts';
import { movingAverage } from './moving-average.ts';
import { PrefixCache, type PrefixCacheUsage, type PrefixHolder, type SlotHolder } from './prefix-cache.ts';
import {
  type CachedPrefix,
  countPasses,
  type FreeSlot,
  type PrefixSource,
  prefillStart,
  type SlotChoice,
  SnapshotBudget,
  selectSlot,
} from './slot-selection.ts';
import { MIN_SNAPSHOT_TOKENS, SnapshotStore } from './snapshot-store.ts';

/** Shorter matches, such as a begin-of-sequence token, are not worth a lookup, except for prompts as short. */
const MIN_REUSED_TOKENS = 16;
/** Holders considered for one prompt. They come in descending order of match length. */
const MAX_MATCHES = 64;
/** Assumed speed of memory copies. */
const COPY_BYTES_PER_SECOND = 4e9;
/** Assumed prefill speed until measured. */
const PREFILL_TOKENS_PER_SECOND = 1_000;
/** Pause after a resize that failed or for which there was no memory. */
const RESIZE_PAUSE_MS = 60_000;

/** Sizes of a slot pool, and its disk cache. */
export interface SlotPoolOptions {
  bytesPerToken: number;
  /** Measured prefill speed; null when unknown. */
  prefillTokensPerSecond: number | null;
  /** Where snapshots are kept and how many bytes they may take; null: prefixes are cached in slots only. */
  disk: { files: KvDiskCache; snapshots: readonly KvSnapshot[]; bytes: number } | null;
  /** Whether `kv` can be resized. Needs `disk`, through which slots move. */
  resizable: boolean;
  /** Logs lost snapshots and failed resizes. */
  warn(what: string, error: unknown): void;
}

/** A part of the KV cache that one job computes in. Its index is llama.cpp's `seq_id`. */
export interface Slot<J> {
  readonly index: number;
  readonly holder: SlotHolder;
  /** The computed tokens and the `scopeKey` that they belong to. */
  tokens: number[];
  scope: string;
  job: J | null;
  /** Tokens to compute next, from `offset` on. */
  pending: readonly number[];
  offset: number;
  /** Tokens of the prompt that were found in the cache. */
  cachedTokens: number;
  promptEnded: boolean;
  /** Steps since the slot last computed anything. */
  waitedSteps: number;
  /** When the job got the slot, in milliseconds of `performance.now()`. */
  since: number;
}

/** Cached prefixes of a prompt. */
export interface PrefixLookup {
  prefixes: CachedPrefix[];
  /** Length of the longest computed prefix. */
  computedTokens: number;
  /** Length of the longest prefix that is computed or that a running job will have computed soon. */
  upcomingTokens: number;
}

/** What a slot pool needs to know of a job. */
export interface SlotJob {
  readonly cacheScope: string;
  readonly prompt: readonly number[];
  /** False: the whole prompt is computed. */
  readonly reusesPrefix: boolean;
}

/** KV-cache slots of a model, their prefixes, and snapshots of them. Not to be used during a `decode`. */
export class SlotPool<J extends SlotJob> {
  /** The allocated slots, by index. Another array after `resize`. */
  all: readonly Slot<J>[];
  readonly budget = new SnapshotBudget();
  readonly #kv: KvContext;
  readonly #options: SlotPoolOptions;
  readonly #store: SnapshotStore | null;
  readonly #cache: PrefixCache;
  /** Slots of copies that llama.cpp performs with the next decode: they must not be read or written before. */
  readonly #copying = new Set<number>();
  #prefillTokensPerSecond: number;
  /** Seconds of one pass over the weights until measured: a model of some hundred million parameters. */
  #passSeconds = 0.02;
  #resizePausedUntil = 0;
  /** When more than one slot was last in use. */
  #concurrentAt = 0;

  constructor(kv: KvContext, options: SlotPoolOptions) {
    const { disk, bytesPerToken, warn } = options;
    this.#kv = kv;
    this.#options = options;
    this.#prefillTokensPerSecond = options.prefillTokensPerSecond ?? PREFILL_TOKENS_PER_SECOND;
    this.#cache = new PrefixCache(disk?.bytes ?? 0);
    this.all = Array.from({ length: kv.slots }, (_, index) => emptySlot<J>(index));
    const cache = this.#cache;
    this.#store =
      disk === null || disk.bytes === 0
        ? null
        : new SnapshotStore({ kv, cache, ...disk, diskBytes: disk.bytes, bytesPerToken, warn });
  }

  /** The present context: growing and shrinking replace it. */
  get context(): KvContext['current'] {
    return this.#kv.current;
  }

  /** Maximum number of slots. */
  get capacity(): number {
    return this.#options.resizable ? this.#kv.capacity : this.#kv.slots;
  }

  /** Finds cached prefixes of a prompt. At least the last token is left to compute: its logits start the completion. */
  lookup(job: SlotJob): PrefixLookup {
    const maxTokens = job.reusesPrefix ? job.prompt.length - 1 : 0;
    const lookup: PrefixLookup = { prefixes: [], computedTokens: 0, upcomingTokens: 0 };
    const minTokens = Math.min(MIN_REUSED_TOKENS, maxTokens / 2);
    let matches = 0;
    for (const { holder, length } of this.#cache.matches(scopeKey(job.cacheScope), job.prompt)) {
      if (maxTokens <= 0 || length < minTokens || matches++ === MAX_MATCHES) break;
      this.#addPrefix(lookup, holder, Math.min(length, maxTokens));
    }
    return lookup;
  }

  #addPrefix(lookup: PrefixLookup, holder: PrefixHolder, length: number): void {
    const add = (source: PrefixSource, tokens: number, lostTokens = 0): void => {
      lookup.prefixes.push({ source, length: tokens, lostTokens });
      lookup.computedTokens = Math.max(lookup.computedTokens, tokens);
      lookup.upcomingTokens = Math.max(lookup.upcomingTokens, tokens);
    };
    if (holder.kind === 'snapshot') {
      add({ kind: 'load', id: holder.id, bytes: holder.bytes }, length);
      return;
    }
    const slot = this.all[holder.slot];
    if (slot === undefined) return;
    if (slot.job !== null && !slot.promptEnded) lookup.upcomingTokens = Math.max(lookup.upcomingTokens, length);
    const computedTokens = Math.min(length, slot.tokens.length);
    if (computedTokens === 0) return;
    if (slot.job === null) {
      add({ kind: 'continue', slot: slot.index }, computedTokens, this.#cache.exclusiveTokens(holder, computedTokens));
    }
    add(this.#copySource(slot), computedTokens);
  }

  /** A copy within the context copies the whole slot; a file contains only the used part. */
  #copySource({ index, tokens }: Slot<J>): PrefixSource {
    const slotBytes = this.#kv.current.contextSize * this.#options.bytesPerToken;
    const copySeconds = slotBytes / COPY_BYTES_PER_SECOND;
    const fileSeconds = this.#store?.roundTripSeconds(tokens.length) ?? Number.POSITIVE_INFINITY;
    const viaFile = fileSeconds < copySeconds && this.#canSave(index, tokens.length);
    return { kind: 'copy', slot: index, viaFile, seconds: viaFile ? fileSeconds : copySeconds };
  }

  /**
   * Gives a job the slot that suits it best, with as much of its prompt as is cached. Needs a free slot. When it
   * throws, the slot belongs to the job and is empty. `what`: the prompt, where it is not that of the job.
   */
  async acquire(job: J, lookup: PrefixLookup, what: SlotJob = job): Promise<Slot<J>> {
    const running = this.all.flatMap(({ index, job: other }) => (other === null ? [] : [index]));
    const choice = this.#select(running, lookup);
    const slot = choice === null ? undefined : this.all[choice.slot];
    if (choice === null || slot === undefined) throw new Error('a job was admitted although no slot is free');
    // Taken before the first await, so that no other job gets it.
    slot.job = job;
    if (running.length > 0) this.#concurrentAt = performance.now();
    let reused: number[] = [];
    try {
      await this.#snapshotBeforeOverwrite(slot, choice);
      reused = await this.#reusePrefix(slot, { ...choice, reused: prefillStart(choice.reused, what.prompt.length) });
    } catch (error) {
      this.clear(slot);
      throw error;
    }
    slot.tokens = reused;
    slot.scope = scopeKey(job.cacheScope);
    slot.pending = what.prompt;
    slot.offset = reused.length;
    slot.cachedTokens = reused.length === 0 ? 0 : choice.reused;
    slot.promptEnded = false;
    slot.waitedSteps = 0;
    slot.since = performance.now();
    // The whole prompt, although it is yet to be computed: other jobs wait for it instead of computing it as well.
    this.#cache.set(slot.holder, slot.scope, what.prompt);
    return slot;
  }

  #select(running: readonly number[], lookup: PrefixLookup): SlotChoice | null {
    const free = this.all.flatMap(({ index, holder, job }): FreeSlot[] => {
      if (job !== null) return [];
      const [exclusive, usedAt] = [this.#cache.exclusiveTokens(holder), this.#cache.usedAt(holder)];
      return [{ slot: index, exclusiveTokens: exclusive, usedAt, passes: countPasses([...running, index]) }];
    });
    return selectSlot(free, lookup.prefixes, {
      prefillTokensPerSecond: this.#prefillTokensPerSecond,
      readBytesPerSecond: this.#store?.readBytesPerSecond ?? 1,
      passSeconds: this.#passSeconds,
    });
  }

  /** Saves the tokens that the job would overwrite, as far as the budget allows. */
  async #snapshotBeforeOverwrite(slot: Slot<J>, choice: SlotChoice): Promise<void> {
    const kept = choice.source?.kind === 'continue' ? choice.reused : 0;
    if (this.#cache.exclusiveTokens(slot.holder, kept) < MIN_SNAPSHOT_TOKENS) return;
    const started = performance.now();
    const isAffordable = this.#store !== null && this.budget.allows(this.#store.writeMilliseconds(slot.tokens.length));
    const saved = isAffordable ? await this.#save(slot) : null;
    this.budget.spend(performance.now() - started);
    if (saved === null) this.#cache.countEviction();
  }

  /** Brings computed tokens into a slot and returns them: none when that fails. */
  async #reusePrefix(slot: Slot<J>, { source, reused }: SlotChoice): Promise<number[]> {
    const tokens = await this.#loadPrefix(slot, source, reused);
    const kept = tokens.length >= reused && truncate(this.context, slot.index, reused) ? reused : 0;
    if (kept === 0) truncate(this.context, slot.index, 0);
    return tokens.slice(0, kept);
  }

  async #loadPrefix(slot: Slot<J>, source: PrefixSource | null, reused: number): Promise<readonly number[]> {
    if (source === null) return [];
    if (source.kind === 'continue') {
      this.#cache.touch(slot.holder);
      return slot.tokens;
    }
    if (source.kind === 'load') return this.#load(slot, source.id, reused);
    const other = this.all[source.slot];
    if (other === undefined) return [];
    this.#cache.touch(other.holder);
    const id = source.viaFile ? await this.#save(other) : null;
    if (id !== null) return this.#load(slot, id, reused);
    await copySequence(this.context, other.index, slot.index);
    this.#copying.add(other.index).add(slot.index);
    return other.tokens;
  }

  async #load(slot: Slot<J>, id: string, reused: number): Promise<readonly number[]> {
    if (this.#store === null || this.#copying.has(slot.index)) return [];
    const { tokens, milliseconds } = await this.#store.load(slot.index, id);
    if (tokens.length > 0) this.budget.addSaved((reused / this.#prefillTokensPerSecond) * 1_000 - milliseconds);
    return tokens;
  }

  /** Milliseconds in which a slot without cached prefixes would compute this many tokens. */
  prefillMilliseconds(tokens: number): number {
    return (tokens / this.#prefillTokensPerSecond) * 1_000;
  }

  /** Takes a slot from its job. What the slot holds stays cached. */
  release(slot: Slot<J>): void {
    slot.job = null;
    this.#cache.set(slot.holder, slot.scope, slot.tokens);
  }

  /** Empties a slot whose content is unknown, such as after a failed decode. */
  clear(slot: Slot<J>): void {
    truncate(this.context, slot.index, 0);
    slot.tokens = [];
    this.#cache.remove(slot.holder);
  }

  /** Records the duration of a step: `decoding` are the slots that computed one token of a completion. */
  recordStep(milliseconds: number, step: { decoding: readonly number[]; promptTokens: number }): void {
    this.#copying.clear();
    this.budget.addComputeTime(milliseconds);
    const { decoding, promptTokens } = step;
    if (promptTokens === 0) {
      this.#passSeconds = movingAverage(this.#passSeconds, milliseconds / 1_000 / countPasses(decoding));
    }
    if (decoding.length > 0 || promptTokens < MIN_SNAPSHOT_TOKENS) return;
    this.#prefillTokensPerSecond = movingAverage(this.#prefillTokensPerSecond, (promptTokens / milliseconds) * 1_000);
  }

  /** Saves the most recently used free slot that is not saved yet. False when there is none. */
  async saveNextSnapshot(): Promise<boolean> {
    const [next] = this.all
      .filter((slot) => slot.job === null && this.#cache.unsavedTokens(slot.holder) >= MIN_SNAPSHOT_TOKENS)
      .sort((a, b) => this.#cache.usedAt(b.holder) - this.#cache.usedAt(a.holder));
    return next !== undefined && (await this.#save(next)) !== null;
  }

  /** Resolves when every snapshot is on the disk. */
  async flush(): Promise<void> {
    await this.#store?.flush();
  }

  #canSave(index: number, tokens: number): boolean {
    return this.#store?.accepts(tokens) === true && !this.#copying.has(index);
  }

  /** Resolves with the id of the snapshot; null when it was not written. */
  async #save(slot: Slot<J>): Promise<string | null> {
    return this.#canSave(slot.index, slot.tokens.length) ? (this.#store?.save(slot) ?? null) : null;
  }

  /** Whether more slots can be allocated now. */
  get canGrow(): boolean {
    return this.#canResize() && this.all.length < this.capacity;
  }

  #canResize(): boolean {
    return this.#options.resizable && this.#copying.size === 0 && performance.now() >= this.#resizePausedUntil;
  }

  /** Milliseconds without concurrent jobs until `resize` to fewer slots is due; null if there are none to free. */
  shrinkDelay(idleMs: number, minSlots: number): number | null {
    if (!this.#options.resizable || this.all.length <= minSlots) return null;
    const dueAt = Math.max(this.#concurrentAt + idleMs, this.#resizePausedUntil);
    return Math.max(0, dueAt - performance.now());
  }

  /**
   * Allocates `count` slots instead of those that there are. Slots keep what they hold, running jobs go on where they
   * were. With fewer slots no job may run, and the most recently used ones are kept. False when there is no memory or a
   * slot cannot be moved: then nothing has changed.
   */
  async resize(count: number): Promise<boolean> {
    if (this.#store === null || !this.#canResize()) return false;
    const store = this.#store;
    const kept = count >= this.all.length ? this.all : this.#mostRecent(count);
    const moves = kept.flatMap(({ index, tokens }, to) => (tokens.length === 0 ? [] : [{ from: index, to, tokens }]));
    try {
      await this.#kv.resize(count, moves, () => store.scratchPath());
    } catch (error) {
      this.#resizePausedUntil = performance.now() + RESIZE_PAUSE_MS;
      this.#options.warn('number of KV-cache slots not changed', error);
      return false;
    }
    if (count > this.all.length) {
      const added = Array.from({ length: count - this.all.length }, (_, i) => emptySlot<J>(this.all.length + i));
      this.all = [...this.all, ...added];
    } else this.#renumber(kept, count);
    return true;
  }

  #mostRecent(count: number): readonly Slot<J>[] {
    if (this.all.some(({ job }) => job !== null)) throw new Error('slots are freed only while no job runs');
    return this.all.toSorted((a, b) => this.#cache.usedAt(b.holder) - this.#cache.usedAt(a.holder)).slice(0, count);
  }

  #renumber(kept: readonly Slot<J>[], count: number): void {
    for (const slot of this.all) {
      if (!kept.includes(slot) && this.#cache.unsavedTokens(slot.holder) >= MIN_SNAPSHOT_TOKENS) {
        this.#cache.countEviction();
      }
      this.#cache.remove(slot.holder);
    }
    this.all = Array.from({ length: count }, (_, index) => emptySlot<J>(index));
    // The least recently used one first, so that their order of use stays.
    for (const slot of [...this.all].reverse()) {
      const { tokens, scope } = kept[slot.index] ?? slot;
      Object.assign(slot, { tokens, scope });
      this.#cache.set(slot.holder, scope, tokens);
    }
  }

  /** Contents of the cache. `bytes`: in memory, without files. */
  usage(): PrefixCacheUsage {
    const tokens = this.all.reduce((sum, slot) => sum + slot.tokens.length, 0);
    return { ...this.#cache.usage(), bytes: tokens * this.#options.bytesPerToken };
  }
}

function emptySlot<J>(index: number): Slot<J> {
  return {
    index,
    holder: { kind: 'slot', slot: index },
    tokens: [],
    scope: '',
    job: null,
    pending: [],
    offset: 0,
    cachedTokens: 0,
    promptEnded: false,
    waitedSteps: 0,
    since: 0,
  };
}
