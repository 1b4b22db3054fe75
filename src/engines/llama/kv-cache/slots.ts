import type { LlamaContext } from 'node-llama-cpp';
import { copySequence, loadSequence, saveSequence, truncate } from '../runtime/bindings.ts';
import { type StateFile, type StateFiles, scopeKey } from './kv-disk-cache.ts';
import { type Holder, PrefixCache, type PrefixCacheUsage, type SavedHolder, type SlotHolder } from './prefix-cache.ts';
import {
  type ComputedPrefix,
  chooseSeat,
  type FreeSequence,
  type PrefixSource,
  passesOf,
  SavingCredit,
  type Seat,
  type SeatCosts,
  startOfRest,
} from './slot-selection.ts';

/** Fewer tokens are computed again as fast as they are read back. */
const LEAST_SAVED_TOKENS = 64;
/** A shorter beginning, such as the mark of every text's begin, is not worth a thought, but for a prompt as short. */
const LEAST_REUSED_TOKENS = 16;
/** Holders that are looked at for one prompt: they come with the longest beginning first. */
const MOST_MATCHES = 64;
/** What memory copies and the page cache do on any machine of these days, until measured. */
const COPY_BYTES_PER_SECOND = 4e9;
const FILE_BYTES_PER_SECOND = 1e9;
/** Speed of computing prompts until measured. */
const PREFILL_TOKENS_PER_SECOND = 1_000;
/** Weight of the newest measurement in a running mean. */
const NEWEST = 0.2;
/** After a state could not be written (a full disk), none is tried for so long. */
const SAVING_PAUSE_MS = 60_000;

/** What is known of the memory that sequences take. */
export interface SequenceMemory {
  /** Tokens of one sequence at most. */
  contextTokens: number;
  /** What a computed token takes. */
  bytesPerToken: number;
  /** Of saved states; 0: none are saved. */
  savedBytes: number;
  /** Speed of computing prompts, as far as it was measured. */
  prefillTokensPerSecond: number | null;
}

/** The part of the context that one job computes in. */
export interface Sequence<J> {
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
  waited: number;
}

/** What the cache knows of a prompt. */
export interface PrefixLook {
  prefixes: ComputedPrefix[];
  /** Tokens of the longest beginning that is computed. */
  computed: number;
  /** Tokens of the longest beginning that is, or that a running job will have computed soon. */
  coming: number;
}

/** Jobs as far as sequences are concerned. */
export interface SeatedJob {
  readonly scope: string;
  readonly prompt: readonly number[];
  /** False: the whole prompt is to be computed. */
  readonly reuses: boolean;
}

/** The sequences of a context, what they hold, and what was saved of it. Nothing here may run during a `decode`. */
export class Sequences<J extends SeatedJob> {
  readonly all: Sequence<J>[];
  readonly credit = new SavingCredit();
  readonly #context: LlamaContext;
  readonly #memory: SequenceMemory;
  readonly #files: StateFiles | null;
  readonly #trouble: (what: string, error: unknown) => void;
  readonly #cache: PrefixCache;
  readonly #byId = new Map<string, SavedHolder>();
  /** Part of a copy that llama.cpp makes with the next step: must not be saved, nor be read into, before. */
  readonly #copying = new Set<number>();
  /** Ends when the files that were written so far are on the disk, and the dropped ones gone. */
  #filing: Promise<void> = Promise.resolve();
  #prefillTokensPerSecond: number;
  #readBytesPerSecond = FILE_BYTES_PER_SECOND;
  #writeBytesPerSecond = FILE_BYTES_PER_SECOND;
  /** For a token, until measured: that of a model of some hundred million parameters. */
  #passSeconds = 0.02;
  #savingPausedUntil = 0;

  /** `files` and what was found there; null: nothing is saved. `trouble` hears of states that are lost. */
  constructor(
    context: LlamaContext,
    memory: SequenceMemory,
    saved: { files: StateFiles; states: readonly StateFile[] } | null,
    trouble: (what: string, error: unknown) => void,
  ) {
    this.#context = context;
    this.#memory = memory;
    this.#files = memory.savedBytes > 0 ? (saved?.files ?? null) : null;
    this.#trouble = trouble;
    this.#prefillTokensPerSecond = memory.prefillTokensPerSecond ?? PREFILL_TOKENS_PER_SECOND;
    this.#cache = new PrefixCache(memory.savedBytes);
    this.all = Array.from({ length: context.totalSequences }, (_, index) => ({
      index,
      holder: { kind: 'slot', sequence: index },
      tokens: [],
      scope: '',
      job: null,
      pending: [],
      offset: 0,
      cachedTokens: 0,
      promptEnded: false,
      waited: 0,
    }));
    for (const { id, scope, bytes, tokens } of saved?.states ?? []) this.#addSaved(id, bytes, scope, tokens);
  }

  /** What is computed of a job's prompt, and by whom. The last token never counts: its logits begin the answer. */
  look(job: J): PrefixLook {
    const most = job.reuses ? job.prompt.length - 1 : 0;
    const look: PrefixLook = { prefixes: [], computed: 0, coming: 0 };
    const least = Math.min(LEAST_REUSED_TOKENS, most / 2);
    let seen = 0;
    for (const { holder, length } of this.#cache.matches(scopeKey(job.scope), job.prompt)) {
      if (most <= 0 || length < least || seen++ === MOST_MATCHES) break;
      this.#addPrefix(look, holder, Math.min(length, most));
    }
    return look;
  }

  #addPrefix(look: PrefixLook, holder: Holder, length: number): void {
    const add = (source: PrefixSource, tokens: number, lost = 0): void => {
      look.prefixes.push({ source, length: tokens, lost });
      look.computed = Math.max(look.computed, tokens);
      look.coming = Math.max(look.coming, tokens);
    };
    if (holder.kind === 'saved') {
      add({ kind: 'load', id: holder.id, bytes: holder.bytes }, length);
      return;
    }
    const sequence = this.all[holder.sequence];
    if (sequence === undefined) return;
    if (sequence.job !== null && !sequence.promptEnded) look.coming = Math.max(look.coming, length);
    const computed = Math.min(length, sequence.tokens.length);
    if (computed === 0) return;
    if (sequence.job === null) {
      add({ kind: 'own', sequence: sequence.index }, computed, this.#cache.exclusive(holder, computed));
    }
    add(this.#copyOf(sequence), computed);
  }

  /** llama.cpp copies a sequence's whole part of the context; a file takes only what is in it, written and read. */
  #copyOf({ index, tokens }: Sequence<J>): PrefixSource {
    const { contextTokens, bytesPerToken } = this.#memory;
    const forEachConcurrent = (contextTokens * bytesPerToken) / COPY_BYTES_PER_SECOND;
    const bytes = tokens.length * bytesPerToken;
    const byFile = bytes / this.#writeBytesPerSecond + bytes / this.#readBytesPerSecond;
    const viaFile = this.#mayFile(index, bytes) && byFile < forEachConcurrent;
    return { kind: 'copy', sequence: index, viaFile, seconds: viaFile ? byFile : forEachConcurrent };
  }

  /**
   * Gives a job the sequence that suits it best, with as much of its prompt as is computed. One must be free. When it
   * throws, the sequence is the job's and empty.
   */
  async seat(job: J, look: PrefixLook): Promise<Sequence<J>> {
    const free = this.all.filter((sequence) => sequence.job === null);
    const running = this.all.flatMap(({ index, job: other }) => (other === null ? [] : [index]));
    const seat = chooseSeat(
      free.map((sequence) => this.#asFree(sequence, running)),
      look.prefixes,
      this.#costs(),
    );
    const sequence = seat === null ? undefined : this.all[seat.sequence];
    if (seat === null || sequence === undefined) throw new Error('A job was to be seated where no sequence is free.');
    // Taken from here on, for what follows waits.
    sequence.job = job;
    let reused: number[] = [];
    try {
      await this.#saveBeforeLoss(sequence, seat);
      reused = await this.#reuse(sequence, { ...seat, reused: startOfRest(seat.reused, job.prompt.length) });
    } catch (error) {
      this.clear(sequence);
      throw error;
    }
    sequence.tokens = reused;
    sequence.scope = scopeKey(job.scope);
    sequence.pending = job.prompt;
    sequence.offset = reused.length;
    sequence.cachedTokens = reused.length === 0 ? 0 : seat.reused;
    sequence.promptEnded = false;
    sequence.waited = 0;
    // The whole prompt, though it is yet to be computed: others see from it what will be there soon.
    this.#cache.set(sequence.holder, sequence.scope, job.prompt);
    return sequence;
  }

  #asFree({ index, holder }: Sequence<J>, running: readonly number[]): FreeSequence {
    const [exclusive, usedAt] = [this.#cache.exclusive(holder), this.#cache.usedAt(holder)];
    return { sequence: index, exclusive, usedAt, passes: passesOf([...running, index]) };
  }

  #costs(): SeatCosts {
    return {
      prefillTokensPerSecond: this.#prefillTokensPerSecond,
      readBytesPerSecond: this.#readBytesPerSecond,
      passSeconds: this.#passSeconds,
    };
  }

  /** Saves what a seat would overwrite, where that has paid so far. */
  async #saveBeforeLoss(sequence: Sequence<J>, seat: Seat): Promise<void> {
    const kept = seat.source?.kind === 'own' ? seat.reused : 0;
    const lost = this.#cache.exclusive(sequence.holder, kept);
    if (lost < LEAST_SAVED_TOKENS) return;
    const estimate = (sequence.tokens.length * this.#memory.bytesPerToken * 1_000) / this.#writeBytesPerSecond;
    const started = performance.now();
    const saved = this.credit.allows(estimate) ? await this.#save(sequence) : null;
    this.credit.spent(performance.now() - started);
    if (saved === null) this.#cache.countEviction();
  }

  /** Brings computed tokens into a sequence; gives them. Where that fails there are none, and all is computed. */
  async #reuse(sequence: Sequence<J>, { source, reused }: Seat): Promise<number[]> {
    const tokens = await this.#bring(sequence, source, reused);
    const kept = tokens.length >= reused && truncate(this.#context, sequence.index, reused) ? reused : 0;
    if (kept === 0) truncate(this.#context, sequence.index, 0);
    return tokens.slice(0, kept);
  }

  async #bring(sequence: Sequence<J>, source: PrefixSource | null, reused: number): Promise<readonly number[]> {
    if (source === null) return [];
    if (source.kind === 'own') {
      this.#cache.touch(sequence.holder);
      return sequence.tokens;
    }
    if (source.kind === 'load') return this.#load(sequence, source.id, reused);
    const other = this.all[source.sequence];
    if (other === undefined) return [];
    this.#cache.touch(other.holder);
    const id = source.viaFile ? await this.#save(other) : null;
    if (id !== null) return this.#load(sequence, id, reused);
    await copySequence(this.#context, other.index, sequence.index);
    this.#copying.add(other.index).add(sequence.index);
    return other.tokens;
  }

  async #load(sequence: Sequence<J>, id: string, reused: number): Promise<readonly number[]> {
    const holder = this.#byId.get(id);
    if (holder === undefined || this.#files === null || this.#copying.has(sequence.index)) return [];
    const started = performance.now();
    try {
      const tokens = await loadSequence(this.#context, sequence.index, this.#files.path(id));
      const took = performance.now() - started;
      this.#readBytesPerSecond = mean(this.#readBytesPerSecond, (holder.bytes / took) * 1_000);
      this.credit.gained((reused / this.#prefillTokensPerSecond) * 1_000 - took);
      this.#cache.touch(holder);
      void this.#files.touch(id);
      return tokens;
    } catch (error) {
      this.#trouble('a saved state could not be read and is dropped', error);
      this.#forget(holder);
      return [];
    }
  }

  /** A job no longer has its sequence; what that holds stays for others to go on from. */
  release(sequence: Sequence<J>): void {
    sequence.job = null;
    this.#cache.set(sequence.holder, sequence.scope, sequence.tokens);
  }

  /** What a sequence holds is not known any more. */
  clear(sequence: Sequence<J>): void {
    truncate(this.#context, sequence.index, 0);
    sequence.tokens = [];
    this.#cache.remove(sequence.holder);
  }

  /** A step was computed: what of, and how long it took. */
  stepped(milliseconds: number, step: { answers: readonly number[]; promptTokens: number }): void {
    this.#copying.clear();
    this.credit.computed(milliseconds);
    const { answers, promptTokens } = step;
    if (promptTokens === 0) this.#passSeconds = mean(this.#passSeconds, milliseconds / 1_000 / passesOf(answers));
    if (answers.length > 0 || promptTokens < LEAST_SAVED_TOKENS) return;
    this.#prefillTokensPerSecond = mean(this.#prefillTokensPerSecond, (promptTokens / milliseconds) * 1_000);
  }

  /** Saves one free sequence that is not saved yet, the most recently used. False: there is none. */
  async saveOne(): Promise<boolean> {
    const [next] = this.all
      .filter((sequence) => sequence.job === null && this.#cache.unsaved(sequence.holder) >= LEAST_SAVED_TOKENS)
      .sort((a, b) => this.#cache.usedAt(b.holder) - this.#cache.usedAt(a.holder));
    return next !== undefined && (await this.#save(next)) !== null;
  }

  /** Resolves when the folder is as it should be: what was saved so far is on the disk, what was dropped is gone. */
  async filed(): Promise<void> {
    await this.#filing;
  }

  /** Whether so many bytes of a sequence can be saved now. */
  #mayFile(index: number, bytes: number): boolean {
    if (this.#files === null || bytes > this.#memory.savedBytes) return false;
    return !this.#copying.has(index) && performance.now() >= this.#savingPausedUntil;
  }

  /** Resolves with the id of the saved state; null: it was not saved. */
  async #save({ index, scope, tokens }: Sequence<J>): Promise<string | null> {
    const files = this.#files;
    if (files === null || tokens.length < LEAST_SAVED_TOKENS) return null;
    if (!this.#mayFile(index, tokens.length * this.#memory.bytesPerToken)) return null;
    const held = Int32Array.from(tokens);
    const started = performance.now();
    try {
      const { id, bytes } = await files.write(scope, (path) => saveSequence(this.#context, index, tokens, path));
      this.#writeBytesPerSecond = mean(this.#writeBytesPerSecond, (bytes / (performance.now() - started)) * 1_000);
      this.#addSaved(id, bytes, scope, held);
      // It can be read at once; that it is on the disk as well is nothing to wait for.
      this.#inBackground(
        () => files.keep(id),
        (error) => this.#savingFailed(error),
      );
      return id;
    } catch (error) {
      this.#savingFailed(error);
      return null;
    }
  }

  #savingFailed(error: unknown): void {
    this.#savingPausedUntil = performance.now() + SAVING_PAUSE_MS;
    this.#trouble('a state could not be saved; none is for a minute', error);
  }

  #addSaved(id: string, bytes: number, scope: string, tokens: ArrayLike<number>): void {
    const holder: SavedHolder = { kind: 'saved', id, bytes, length: tokens.length };
    this.#byId.set(id, holder);
    for (const gone of this.#cache.addSaved(holder, scope, tokens)) this.#forget(gone);
  }

  #forget(holder: SavedHolder): void {
    this.#cache.remove(holder);
    this.#byId.delete(holder.id);
    this.#inBackground(
      async () => this.#files?.remove(holder.id),
      (error) => this.#trouble('a state could not be deleted', error),
    );
  }

  /** One at a time: a disk that is slow must not take the threads that compute. */
  #inBackground(work: () => Promise<void>, failed: (error: unknown) => void): void {
    this.#filing = this.#filing.then(work).catch(failed);
  }

  /** What is held. `bytes` are those of memory, not of files. */
  usage(): PrefixCacheUsage {
    const tokens = this.all.reduce((sum, sequence) => sum + sequence.tokens.length, 0);
    return { ...this.#cache.usage(), bytes: tokens * this.#memory.bytesPerToken };
  }
}

const mean = (before: number, newest: number): number => before + NEWEST * (newest - before);
