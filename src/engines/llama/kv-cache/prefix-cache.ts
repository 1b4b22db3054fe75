import { RadixTree } from './radix-tree.ts';

/**
 * After so long without a request, the states of a scope no longer count as a share of the budget, and go first:
 * conversations are continued within minutes.
 */
const SCOPE_IDLE_MS = 30 * 60_000;

/** The part of the context of one sequence. */
export interface SlotHolder {
  readonly kind: 'slot';
  readonly slot: number;
}

/** The state of a sequence, written to a file. */
export interface SnapshotHolder {
  readonly kind: 'snapshot';
  readonly id: string;
  readonly bytes: number;
  /** Number of tokens. */
  readonly length: number;
}

/** Who holds computed tokens. */
export type PrefixHolder = SlotHolder | SnapshotHolder;

/** What a prefix cache holds and has lost, in numbers. */
export interface PrefixCacheUsage {
  /** Of saved states. */
  bytes: number;
  /** Distinct sequences: none is the beginning of another. */
  entries: number;
  /** Sequences that were given up for others. What a longer one replaced is none of them. */
  evictions: number;
}

interface ScopeStates {
  readonly tree: RadixTree<PrefixHolder>;
  bytes: number;
  /** Milliseconds. */
  usedAt: number;
}

/**
 * Which beginnings of prompts are computed, for whom, and where: a radix tree for each scope (an organization), so that
 * one finds nothing of another. It only keeps the books; states are written and read elsewhere.
 *
 * The saved states stay within a budget of bytes. The least recently used goes first, of a scope that has more than its
 * equal share: nobody's states are pushed out by another scope's traffic while they are within it. A beginning that
 * several states share lives on with the last of them, which inherits its last use (see `RadixTree`).
 */
export class PrefixCache {
  readonly #budgetBytes: number;
  readonly #now: () => number;
  readonly #scopes = new Map<string, ScopeStates>();
  readonly #scopeOf = new Map<PrefixHolder, string>();
  #bytes = 0;
  #evictions = 0;
  #uses = 0;

  /** `budgetBytes`: of saved states. `now`: milliseconds. */
  constructor(budgetBytes: number, now: () => number = Date.now) {
    this.#budgetBytes = budgetBytes;
    this.#now = now;
  }

  /** Who holds a beginning of `tokens` for `scope`, the longest first. */
  matches(scope: string, tokens: ArrayLike<number>): Iterable<{ holder: PrefixHolder; length: number }> {
    return this.#scopes.get(scope)?.tree.matches(tokens) ?? [];
  }

  /** Lets `holder` hold `tokens` for `scope`, instead of what it held before; no tokens: nothing. */
  set(holder: PrefixHolder, scope: string, tokens: ArrayLike<number>): void {
    this.remove(holder);
    if (tokens.length === 0) return;
    const snapshots = this.#scope(scope);
    this.#uses += 1;
    snapshots.tree.set(holder, tokens, this.#uses);
    this.#scopeOf.set(holder, scope);
    if (holder.kind === 'snapshot') this.#addBytes(snapshots, holder.bytes);
  }

  /** Notes that `holder` was used. */
  touch(holder: PrefixHolder): void {
    const snapshots = this.#scopes.get(this.#scopeOf.get(holder) ?? '');
    if (snapshots === undefined) return;
    this.#uses += 1;
    snapshots.usedAt = this.#now();
    snapshots.tree.touch(holder, this.#uses);
  }

  /** Forgets a holder. */
  remove(holder: PrefixHolder): void {
    const scope = this.#scopeOf.get(holder);
    const snapshots = scope === undefined ? undefined : this.#scopes.get(scope);
    if (scope === undefined || snapshots === undefined) return;
    snapshots.tree.remove(holder);
    this.#scopeOf.delete(holder);
    if (holder.kind === 'snapshot') this.#addBytes(snapshots, -holder.bytes);
    if (snapshots.tree.size === 0) this.#scopes.delete(scope);
  }

  /** A rising number: when what a holder holds was last used. */
  usedAt(holder: PrefixHolder): number {
    return this.#scopes.get(this.#scopeOf.get(holder) ?? '')?.tree.usedAt(holder) ?? 0;
  }

  /** How many of `holder`'s tokens from `depth` on nobody else holds. */
  exclusiveTokens(holder: PrefixHolder, depth = 0): number {
    const tree = this.#scopes.get(this.#scopeOf.get(holder) ?? '')?.tree;
    return tree?.exclusiveTokens(holder, depth, () => true) ?? 0;
  }

  /** How many of `holder`'s tokens are in no saved state. */
  unsavedTokens(holder: PrefixHolder): number {
    const tree = this.#scopes.get(this.#scopeOf.get(holder) ?? '')?.tree;
    return tree?.exclusiveTokens(holder, 0, (other) => other.kind === 'snapshot') ?? 0;
  }

  /** Counts a sequence that was given up for another one. */
  countEviction(): void {
    this.#evictions += 1;
  }

  /**
   * Takes in a state that was saved, and gives those up that it replaces or pushes out, which the caller then deletes.
   * The new one itself is among them when it alone is more than the budget.
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

  /** The saved state that goes first. */
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
