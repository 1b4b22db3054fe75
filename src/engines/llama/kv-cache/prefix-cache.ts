import { RadixTree } from './radix-tree.ts';

/**
 * Scopes without a request for so long lose their share of the budget and are evicted first. Conversations continue
 * within minutes.
 */
const SCOPE_IDLE_MS = 30 * 60_000;

/** A slot that holds computed tokens. */
export interface SlotHolder {
  readonly kind: 'slot';
  readonly slot: number;
}

/** A KV snapshot that holds computed tokens. */
export interface SnapshotHolder {
  readonly kind: 'snapshot';
  readonly id: string;
  readonly bytes: number;
  /** In tokens. */
  readonly length: number;
}

/** Owner of cached tokens. */
export type PrefixHolder = SlotHolder | SnapshotHolder;

/** Statistics of a prefix cache. */
export interface PrefixCacheUsage {
  /** Of snapshots. */
  bytes: number;
  /** Distinct token sequences, without those that are a prefix of another. */
  entries: number;
  /** Evicted sequences. A sequence that was replaced by a longer one is not counted. */
  evictions: number;
}

interface ScopeStates {
  readonly tree: RadixTree<PrefixHolder>;
  bytes: number;
  /** Milliseconds. */
  usedAt: number;
}

/**
 * Index of computed prefixes: one radix tree per scope (organization), so that no scope sees prefixes of another. It
 * stores no states itself.
 *
 * Snapshots are kept within a byte budget. Eviction: the least recently used snapshot of a scope that exceeds its equal
 * share, so that traffic of one scope never evicts another scope within its share. A shared prefix is evicted with the
 * last of its holders and inherits the latest use (see `RadixTree`).
 */
export class PrefixCache {
  readonly #budgetBytes: number;
  readonly #now: () => number;
  readonly #scopes = new Map<string, ScopeStates>();
  readonly #scopeOf = new Map<PrefixHolder, string>();
  #bytes = 0;
  #evictions = 0;
  #uses = 0;

  /** `budgetBytes`: total size of snapshots. `now`: clock in milliseconds. */
  constructor(budgetBytes: number, now: () => number = Date.now) {
    this.#budgetBytes = budgetBytes;
    this.#now = now;
  }

  /** Returns the holders that share a prefix with `tokens`, the longest first. */
  matches(scope: string, tokens: ArrayLike<number>): Iterable<{ holder: PrefixHolder; length: number }> {
    return this.#scopes.get(scope)?.tree.matches(tokens) ?? [];
  }

  /** Sets the tokens of a holder. No tokens: removes the holder. */
  set(holder: PrefixHolder, scope: string, tokens: ArrayLike<number>): void {
    this.remove(holder);
    if (tokens.length === 0) return;
    const snapshots = this.#scope(scope);
    this.#uses += 1;
    snapshots.tree.set(holder, tokens, this.#uses);
    this.#scopeOf.set(holder, scope);
    if (holder.kind === 'snapshot') this.#addBytes(snapshots, holder.bytes);
  }

  /** Marks `holder` as used. */
  touch(holder: PrefixHolder): void {
    const snapshots = this.#scopes.get(this.#scopeOf.get(holder) ?? '');
    if (snapshots === undefined) return;
    this.#uses += 1;
    snapshots.usedAt = this.#now();
    snapshots.tree.touch(holder, this.#uses);
  }

  remove(holder: PrefixHolder): void {
    const scope = this.#scopeOf.get(holder);
    const snapshots = scope === undefined ? undefined : this.#scopes.get(scope);
    if (scope === undefined || snapshots === undefined) return;
    snapshots.tree.remove(holder);
    this.#scopeOf.delete(holder);
    if (holder.kind === 'snapshot') this.#addBytes(snapshots, -holder.bytes);
    if (snapshots.tree.size === 0) this.#scopes.delete(scope);
  }

  /** Returns when the tokens of a holder were last used, as an increasing number. */
  usedAt(holder: PrefixHolder): number {
    return this.#scopes.get(this.#scopeOf.get(holder) ?? '')?.tree.usedAt(holder) ?? 0;
  }

  /** Counts the tokens of `holder` from `depth` on that no other holder has. */
  exclusiveTokens(holder: PrefixHolder, depth = 0): number {
    const tree = this.#scopes.get(this.#scopeOf.get(holder) ?? '')?.tree;
    return tree?.exclusiveTokens(holder, depth, () => true) ?? 0;
  }

  /** Counts the tokens of `holder` that are in no snapshot. */
  unsavedTokens(holder: PrefixHolder): number {
    const tree = this.#scopes.get(this.#scopeOf.get(holder) ?? '')?.tree;
    return tree?.exclusiveTokens(holder, 0, (other) => other.kind === 'snapshot') ?? 0;
  }

  countEviction(): void {
    this.#evictions += 1;
  }

  /**
   * Adds a snapshot. Returns the snapshots that it replaces or evicts, for the caller to delete; among them the new one
   * when it exceeds the budget alone.
   */
  addSnapshot(holder: SnapshotHolder, scope: string, tokens: ArrayLike<number>): SnapshotHolder[] {
    this.set(holder, scope, tokens);
    const gone: SnapshotHolder[] = [];
    for (const other of this.#scopes.get(scope)?.tree.prefixesOf(holder) ?? []) {
      if (other.kind === 'snapshot') gone.push(other);
    }
    for (const other of gone) this.remove(other);
    while (this.#bytes > this.#budgetBytes) {
      const victim = this.#evictionCandidate();
      if (victim === null) break;
      this.remove(victim);
      this.#evictions += 1;
      gone.push(victim);
    }
    return gone;
  }

  usage(): PrefixCacheUsage {
    let entries = 0;
    for (const { tree } of this.#scopes.values()) entries += tree.leaves;
    return { bytes: this.#bytes, entries, evictions: this.#evictions };
  }

  #scope(scope: string): ScopeStates {
    const snapshots = this.#scopes.get(scope) ?? { tree: new RadixTree<PrefixHolder>(), bytes: 0, usedAt: 0 };
    snapshots.usedAt = this.#now();
    this.#scopes.set(scope, snapshots);
    return snapshots;
  }

  #addBytes(snapshots: ScopeStates, bytes: number): void {
    snapshots.bytes += bytes;
    this.#bytes += bytes;
  }

  /** Returns the snapshot to evict next. */
  #evictionCandidate(): SnapshotHolder | null {
    const now = this.#now();
    const all = [...this.#scopes.values()].filter(({ bytes }) => bytes > 0);
    const idle = all.filter(({ usedAt }) => now - usedAt > SCOPE_IDLE_MS);
    const share = this.#budgetBytes / Math.max(1, all.length - idle.length);
    const candidates = idle.length > 0 ? idle : all.filter(({ bytes }) => bytes > share);
    let victim: { holder: SnapshotHolder; usedAt: number } | null = null;
    for (const { tree } of candidates) {
      for (const holder of tree.holders()) {
        if (holder.kind !== 'snapshot') continue;
        const usedAt = tree.usedAt(holder);
        if (victim === null || usedAt < victim.usedAt) victim = { holder, usedAt };
      }
    }
    return victim?.holder ?? null;
  }
}
