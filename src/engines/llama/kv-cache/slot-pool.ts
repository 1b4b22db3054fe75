import type { LlamaContext } from 'node-llama-cpp';
import { copySequence, loadSequence, saveSequence, truncate } from '../runtime/bindings.ts';
import { type KvDiskCache, type KvSnapshot, scopeKey } from './kv-disk-cache.ts';
import {
  PrefixCache,
  type PrefixCacheUsage,
  type PrefixHolder,
  type SlotHolder,
  type SnapshotHolder,
} from './prefix-cache.ts';
import {
  type CachedPrefix,
  countPasses,
  type FreeSlot,
  type PrefixSource,
  prefillStart,
  type SlotChoice,
  type SlotCosts,
  SnapshotBudget,
  selectSlot,
} from './slot-selection.ts';

/** Fewer tokens are computed again as fast as they are read back. */
const MIN_SNAPSHOT_TOKENS = 64;
/** A shorter beginning, such as the mark of every text's begin, is not worth a thought, but for a prompt as short. */
const MIN_REUSED_TOKENS = 16;
/** Holders that are looked at for one prompt: they come with the longest beginning first. */
const MAX_MATCHES = 64;
/** What memory copies and the page cache do on any machine of these days, until measured. */
const COPY_BYTES_PER_SECOND = 4e9;
const FILE_BYTES_PER_SECOND = 1e9;
/** Speed of computing prompts until measured. */
const PREFILL_TOKENS_PER_SECOND = 1_000;
/** Weight of the newest measurement in a running mean. */
const EWMA_WEIGHT = 0.2;
/** After a state could not be written (a full disk), none is tried for so long. */
const SNAPSHOT_PAUSE_MS = 60_000;

/** What is known of the memory that sequences take. */
export interface SlotPoolOptions {
  /** Tokens of one sequence at most. */
  contextTokens: number;
  /** What a computed token takes. */
  bytesPerToken: number;
  /** Of saved states; 0: none are saved. */
  diskBytes: number;
  /** Speed of computing prompts, as far as it was measured. */
  prefillTokensPerSecond: number | null;
}

/** The part of the context that one job computes in. */
export interface Slot<J> {
  readonly index: number;
  readonly holder: SlotHolder;
  /** What it holds, and for whom (a `scopeKey`). */
  tokens: number[];
  scope: string;
  job: J | null;
  /** What is to be computed next, from `offset` on. */
  pending: readonly number[];
  offset: number;
  /** Of the prompt, found computed. */
  cachedTokens: number;
  promptEnded: boolean;
  /** Steps since it last computed anything. */
  waitedSteps: number;
}

/** What the cache knows of a prompt. */
export interface PrefixLookup {
  prefixes: CachedPrefix[];
  /** Tokens of the longest beginning that is computed. */
  computedTokens: number;
  /** Tokens of the longest beginning that is, or that a running job will have computed soon. */
  upcomingTokens: number;
}

/** Jobs as far as sequences are concerned. */
export interface SlotJob {
  readonly scope: string;
  readonly prompt: readonly number[];
  /** False: the whole prompt is to be computed. */
  readonly reusesPrefix: boolean;
}

/** The sequences of a context, what they hold, and what was saved of it. Nothing here may run during a `decode`. */
export class SlotPool<J extends SlotJob> {
  readonly all: Slot<J>[];
  readonly credit = new SnapshotBudget();
  readonly #context: LlamaContext;
  readonly #memory: SlotPoolOptions;
  readonly #files: KvDiskCache | null;
  readonly #warn: (what: string, error: unknown) => void;
  readonly #cache: PrefixCache;
  readonly #snapshots = new Map<string, SnapshotHolder>();
  /** Part of a copy that llama.cpp makes with the next step: must not be saved, nor be read into, before. */
  readonly #copying = new Set<number>();
  /** Ends when the files that were written so far are on the disk, and the dropped ones gone. */
  #fileOperations: Promise<void> = Promise.resolve();
  #prefillTokensPerSecond: number;
  #readBytesPerSecond = FILE_BYTES_PER_SECOND;
  #writeBytesPerSecond = FILE_BYTES_PER_SECOND;
  /** For a token, until measured: that of a model of some hundred million parameters. */
  #passSeconds = 0.02;
  #savingPausedUntil = 0;

  /** `files` and what was found there; null: nothing is saved. `trouble` hears of states that are lost. */
  constructor(
    context: LlamaContext,
    memory: SlotPoolOptions,
    saved: { files: KvDiskCache; snapshots: readonly KvSnapshot[] } | null,
    trouble: (what: string, error: unknown) => void,
  ) {
    this.#context = context;
    this.#memory = memory;
    this.#files = memory.diskBytes > 0 ? (saved?.files ?? null) : null;
    this.#warn = trouble;
    this.#prefillTokensPerSecond = memory.prefillTokensPerSecond ?? PREFILL_TOKENS_PER_SECOND;
    this.#cache = new PrefixCache(memory.diskBytes);
    this.all = Array.from({ length: context.totalSequences }, (_, index) => ({
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
    }));
    for (const { id, scope, bytes, tokens } of saved?.snapshots ?? []) this.#addSnapshot(id, bytes, scope, tokens);
  }

  /** What is computed of a job's prompt, and by whom. The last token never counts: its logits begin the answer. */
  lookup(job: J): PrefixLookup {
    const most = job.reusesPrefix ? job.prompt.length - 1 : 0;
    const lookup: PrefixLookup = { prefixes: [], computedTokens: 0, upcomingTokens: 0 };
    const least = Math.min(MIN_REUSED_TOKENS, most / 2);
    let seen = 0;
    for (const { holder, length } of this.#cache.matches(scopeKey(job.scope), job.prompt)) {
      if (most <= 0 || length < least || seen++ === MAX_MATCHES) break;
      this.#addPrefix(lookup, holder, Math.min(length, most));
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

  /** llama.cpp copies a sequence's whole part of the context; a file takes only what is in it, written and read. */
  #copySource({ index, tokens }: Slot<J>): PrefixSource {
    const { contextTokens, bytesPerToken } = this.#memory;
    const forEachConcurrent = (contextTokens * bytesPerToken) / COPY_BYTES_PER_SECOND;
    const bytes = tokens.length * bytesPerToken;
    const byFile = bytes / this.#writeBytesPerSecond + bytes / this.#readBytesPerSecond;
    const viaFile = this.#canSnapshot(index, bytes) && byFile < forEachConcurrent;
    return { kind: 'copy', slot: index, viaFile, seconds: viaFile ? byFile : forEachConcurrent };
  }

  /**
   * Gives a job the sequence that suits it best, with as much of its prompt as is computed. One must be free. When it
   * throws, the sequence is the job's and empty.
   */
  async acquire(job: J, lookup: PrefixLookup): Promise<Slot<J>> {
    const free = this.all.filter((slot) => slot.job === null);
    const running = this.all.flatMap(({ index, job: other }) => (other === null ? [] : [index]));
    const acquire = selectSlot(
      free.map((slot) => this.#freeSlot(slot, running)),
      lookup.prefixes,
      this.#costs(),
    );
    const slot = acquire === null ? undefined : this.all[acquire.slot];
    if (acquire === null || slot === undefined) throw new Error('A job was to be seated where no sequence is free.');
    // Taken from here on, for what follows waits.
    slot.job = job;
    let reused: number[] = [];
    try {
      await this.#snapshotBeforeOverwrite(slot, acquire);
      reused = await this.#reusePrefix(slot, { ...acquire, reused: prefillStart(acquire.reused, job.prompt.length) });
    } catch (error) {
      this.clear(slot);
      throw error;
    }
    slot.tokens = reused;
    slot.scope = scopeKey(job.scope);
    slot.pending = job.prompt;
    slot.offset = reused.length;
    slot.cachedTokens = reused.length === 0 ? 0 : acquire.reused;
    slot.promptEnded = false;
    slot.waitedSteps = 0;
    // The whole prompt, though it is yet to be computed: others see from it what will be there soon.
    this.#cache.set(slot.holder, slot.scope, job.prompt);
    return slot;
  }

  #freeSlot({ index, holder }: Slot<J>, running: readonly number[]): FreeSlot {
    const [exclusiveTokens, usedAt] = [this.#cache.exclusiveTokens(holder), this.#cache.usedAt(holder)];
    return { slot: index, exclusiveTokens, usedAt, passes: countPasses([...running, index]) };
  }

  #costs(): SlotCosts {
    return {
      prefillTokensPerSecond: this.#prefillTokensPerSecond,
      readBytesPerSecond: this.#readBytesPerSecond,
      passSeconds: this.#passSeconds,
    };
  }

  /** Saves what a seat would overwrite, where that has paid so far. */
  async #snapshotBeforeOverwrite(slot: Slot<J>, acquire: SlotChoice): Promise<void> {
    const kept = acquire.source?.kind === 'continue' ? acquire.reused : 0;
    const lostTokens = this.#cache.exclusiveTokens(slot.holder, kept);
    if (lostTokens < MIN_SNAPSHOT_TOKENS) return;
    const estimate = (slot.tokens.length * this.#memory.bytesPerToken * 1_000) / this.#writeBytesPerSecond;
    const started = performance.now();
    const saved = this.credit.allows(estimate) ? await this.#save(slot) : null;
    this.credit.spend(performance.now() - started);
    if (saved === null) this.#cache.countEviction();
  }

  /** Brings computed tokens into a sequence; gives them. Where that fails there are none, and all is computed. */
  async #reusePrefix(slot: Slot<J>, { source, reused }: SlotChoice): Promise<number[]> {
    const tokens = await this.#loadPrefix(slot, source, reused);
    const kept = tokens.length >= reused && truncate(this.#context, slot.index, reused) ? reused : 0;
    if (kept === 0) truncate(this.#context, slot.index, 0);
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
    await copySequence(this.#context, other.index, slot.index);
    this.#copying.add(other.index).add(slot.index);
    return other.tokens;
  }

  async #load(slot: Slot<J>, id: string, reused: number): Promise<readonly number[]> {
    const holder = this.#snapshots.get(id);
    if (holder === undefined || this.#files === null || this.#copying.has(slot.index)) return [];
    const started = performance.now();
    try {
      const tokens = await loadSequence(this.#context, slot.index, this.#files.path(id));
      const took = performance.now() - started;
      this.#readBytesPerSecond = movingAverage(this.#readBytesPerSecond, (holder.bytes / took) * 1_000);
      this.credit.addSaved((reused / this.#prefillTokensPerSecond) * 1_000 - took);
      this.#cache.touch(holder);
      void this.#files.touch(id);
      return tokens;
    } catch (error) {
      this.#warn('a saved state could not be read and is dropped', error);
      this.#deleteSnapshot(holder);
      return [];
    }
  }

  /** A job no longer has its sequence; what that holds stays for others to go on from. */
  release(slot: Slot<J>): void {
    slot.job = null;
    this.#cache.set(slot.holder, slot.scope, slot.tokens);
  }

  /** What a sequence holds is not known any more. */
  clear(slot: Slot<J>): void {
    truncate(this.#context, slot.index, 0);
    slot.tokens = [];
    this.#cache.remove(slot.holder);
  }

  /** A step was computed: what of, and how long it took. */
  recordStep(milliseconds: number, step: { answers: readonly number[]; promptTokens: number }): void {
    this.#copying.clear();
    this.credit.computedTokens(milliseconds);
    const { answers, promptTokens } = step;
    if (promptTokens === 0)
      this.#passSeconds = movingAverage(this.#passSeconds, milliseconds / 1_000 / countPasses(answers));
    if (answers.length > 0 || promptTokens < MIN_SNAPSHOT_TOKENS) return;
    this.#prefillTokensPerSecond = movingAverage(this.#prefillTokensPerSecond, (promptTokens / milliseconds) * 1_000);
  }

  /** Saves one free sequence that is not saved yet, the most recently used. False: there is none. */
  async saveNextSnapshot(): Promise<boolean> {
    const [next] = this.all
      .filter((slot) => slot.job === null && this.#cache.unsavedTokens(slot.holder) >= MIN_SNAPSHOT_TOKENS)
      .sort((a, b) => this.#cache.usedAt(b.holder) - this.#cache.usedAt(a.holder));
    return next !== undefined && (await this.#save(next)) !== null;
  }

  /** Resolves when the folder is as it should be: what was saved so far is on the disk, what was dropped is gone. */
  async flushed(): Promise<void> {
    await this.#fileOperations;
  }

  /** Whether so many bytes of a sequence can be saved now. */
  #canSnapshot(index: number, bytes: number): boolean {
    if (this.#files === null || bytes > this.#memory.diskBytes) return false;
    return !this.#copying.has(index) && performance.now() >= this.#savingPausedUntil;
  }

  /** Resolves with the id of the saved state; null: it was not saved. */
  async #save({ index, scope, tokens }: Slot<J>): Promise<string | null> {
    const files = this.#files;
    if (files === null || tokens.length < MIN_SNAPSHOT_TOKENS) return null;
    if (!this.#canSnapshot(index, tokens.length * this.#memory.bytesPerToken)) return null;
    const held = Int32Array.from(tokens);
    const started = performance.now();
    try {
      const { id, bytes } = await files.write(scope, (path) => saveSequence(this.#context, index, tokens, path));
      this.#writeBytesPerSecond = movingAverage(
        this.#writeBytesPerSecond,
        (bytes / (performance.now() - started)) * 1_000,
      );
      this.#addSnapshot(id, bytes, scope, held);
      // It can be read at once; that it is on the disk as well is nothing to wait for.
      this.#inBackground(
        () => files.commit(id),
        (error) => this.#savingFailed(error),
      );
      return id;
    } catch (error) {
      this.#savingFailed(error);
      return null;
    }
  }

  #savingFailed(error: unknown): void {
    this.#savingPausedUntil = performance.now() + SNAPSHOT_PAUSE_MS;
    this.#warn('a state could not be saved; none is for a minute', error);
  }

  #addSnapshot(id: string, bytes: number, scope: string, tokens: ArrayLike<number>): void {
    const holder: SnapshotHolder = { kind: 'snapshot', id, bytes, length: tokens.length };
    this.#snapshots.set(id, holder);
    for (const gone of this.#cache.addSnapshot(holder, scope, tokens)) this.#deleteSnapshot(gone);
  }

  #deleteSnapshot(holder: SnapshotHolder): void {
    this.#cache.remove(holder);
    this.#snapshots.delete(holder.id);
    this.#inBackground(
      async () => this.#files?.remove(holder.id),
      (error) => this.#warn('a state could not be deleted', error),
    );
  }

  /** One at a time: a disk that is slow must not take the threads that compute. */
  #inBackground(work: () => Promise<void>, failed: (error: unknown) => void): void {
    this.#fileOperations = this.#fileOperations.then(work).catch(failed);
  }

  /** What is held. `bytes` are those of memory, not of files. */
  usage(): PrefixCacheUsage {
    const tokens = this.all.reduce((sum, slot) => sum + slot.tokens.length, 0);
    return { ...this.#cache.usage(), bytes: tokens * this.#memory.bytesPerToken };
  }
}

const movingAverage = (before: number, newest: number): number => before + EWMA_WEIGHT * (newest - before);
