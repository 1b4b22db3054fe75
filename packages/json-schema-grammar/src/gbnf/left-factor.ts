import { type Characters, contains, disjointClasses } from '../schema/characters.ts';
import { GrammarError, type GrammarRules, type GrammarSymbol, ROOT, type SymbolSequence } from './rules.ts';

/** Maximum symbols of alternatives that are factored together: more than the widest objects have. */
const MAX_GROUP_SYMBOLS = 4_000;
/** Maximum symbols of generated rules. */
const MAX_WRITTEN_SYMBOLS = 100_000;
/** Maximum symbols of an inlined sequence; longer ones become rules, which may be shared. */
const MAX_INLINE_SYMBOLS = 4;
/** Maximum sequences examined, so that no grammar takes longer than a second. */
const MAX_WORK = 200_000;
/** Prefix of generated rules. No other rule has it. */
const FACTORED = 'f-';

/**
 * Left-factors a grammar: alternatives with a common prefix share it, also through the rules that they refer to. A
 * parser then has one stack until they differ, instead of one per alternative. The language stays the same.
 * Alternatives whose common prefix is infinite or too large are kept as they are.
 */
export function leftFactor(rules: GrammarRules, maxWrittenSymbols: number = MAX_WRITTEN_SYMBOLS): GrammarRules {
  return new Factoring(rules, maxWrittenSymbols).run();
}

/** An interned sequence: equal sequences are one object. */
interface Chain {
  readonly id: number;
  /** Null for the empty sequence. */
  readonly head: GrammarSymbol | null;
  readonly tail: Chain | null;
  /** Number of symbols. */
  readonly length: number;
  /** Sequences with one more symbol in front, by that symbol. */
  before: Map<GrammarSymbol, Chain> | null;
  /** First set: bits of ASCII characters, and bit 128 for all others; null until computed. */
  first: bigint | null;
  isNullable: boolean;
}

/** The alternatives of a rule, before and after factoring. */
interface Rule {
  alternatives: readonly Chain[];
  first: bigint;
  isNullable: boolean;
}

const OTHERS = 1n << 128n;

class Factoring {
  readonly #rules = new Map<string, Rule>();
  readonly #interned = new Map<GrammarSymbol, GrammarSymbol>();
  readonly #symbols = new Map<string, GrammarSymbol>();
  readonly #firstOfSet = new Map<Characters, bigint>();
  readonly #byAlternatives = new Map<string, string>();
  readonly #expansions = new Map<Chain, readonly Chain[]>();
  readonly #maxWrittenSymbols: number;
  readonly #empty: Chain = { id: 0, head: null, tail: null, length: 0, before: null, first: 0n, isNullable: true };
  #added = 0;
  #chains = 0;
  #writtenSymbols = 0;
  #work = 0;

  constructor(rules: GrammarRules, maxWrittenSymbols: number) {
    this.#maxWrittenSymbols = maxWrittenSymbols;
    for (const [name, alternatives] of rules) {
      const chains = alternatives.map((sequence) => this.#chain(sequence, this.#empty));
      this.#rules.set(name, { alternatives: chains, first: 0n, isNullable: false });
    }
    this.#findFirsts();
  }

  run(): GrammarRules {
    const reached = new Set([ROOT]);
    const factored = new Map<string, readonly SymbolSequence[]>();
    // Breadth first, so that an exhausted budget affects the rules that are reached last. Iterating a set includes
    // entries added meanwhile.
    for (const name of reached) {
      const rule = this.#rules.get(name);
      if (rule === undefined) throw new GrammarError(`lacks the rule '${name}'`);
      const chains = this.#factor(rule.alternatives);
      this.#writtenSymbols += collectSymbols(chains);
      const alternatives = chains.map(toSequence);
      factored.set(name, alternatives);
      for (const sequence of alternatives) for (const used of collectNames(sequence)) reached.add(used);
    }
    return factored;
  }

  get #isSpent(): boolean {
    return this.#work > MAX_WORK || this.#writtenSymbols > this.#maxWrittenSymbols;
  }

  /** Rewrites alternatives so that no two start with the same character. Stops when the budget is exhausted. */
  #factor(alternatives: readonly Chain[]): Chain[] {
    return this.#overlapping(alternatives).flatMap((group) => {
      const [only] = group;
      if (group.length === 1 && only !== undefined) return alternatives.length === 1 ? only : this.#shortened(only);
      if (this.#isSpent) return group;
      const shared = this.#shareHead(group);
      if (shared !== null) return [shared];
      const expanded = [...new Set(group.flatMap((chain) => this.#expanded(chain)))];
      return collectSymbols(expanded) > MAX_GROUP_SYMBOLS ? group : this.#splitTerminals(expanded);
    });
  }

  /** The same sequence, with a rule for a long part behind its first character. */
  #shortened(chain: Chain): Chain {
    if (chain.head?.kind !== 'terminal' || chain.tail === null) return chain;
    return this.#chain([chain.head], this.#alternative([chain.tail]));
  }

  /** Groups of alternatives whose first sets overlap. */
  #overlapping(chains: readonly Chain[]): Chain[][] {
    let groups: { first: bigint; chains: Chain[] }[] = [];
    for (const chain of new Set(chains)) {
      const first = this.#firstOf(chain);
      const [alike, apart] = [[] as typeof groups, [] as typeof groups];
      for (const group of groups) ((group.first & first) === 0n ? apart : alike).push(group);
      const [merged = { first: 0n, chains: [] }, ...others] = alike;
      merged.first |= others.reduce((bits, group) => bits | group.first, first);
      for (const group of others) for (const other of group.chains) merged.chains.push(other);
      merged.chains.push(chain);
      groups = [...apart, merged];
    }
    return groups.map((group) => group.chains);
  }

  /**
   * Merges alternatives with the same head: their longest common prefix, and a rule for the rest. Null: the heads
   * differ.
   */
  #shareHead(chains: readonly Chain[]): Chain | null {
    const shared: GrammarSymbol[] = [];
    let rest = chains;
    for (let head = rest[0]?.head ?? null; head !== null && rest.every((chain) => chain.head === head); ) {
      shared.push(head);
      rest = rest.map((chain) => chain.tail ?? this.#empty);
      head = rest[0]?.head ?? null;
    }
    return shared.length === 0 ? null : this.#chain(shared, this.#alternative(rest));
  }

  /** Splits overlapping terminals into disjoint classes. */
  #splitTerminals(chains: readonly Chain[]): Chain[] {
    const sets = chains.flatMap(({ head }) => (head?.kind === 'terminal' ? [head.set] : []));
    const byTails = new Map<Chain, Characters[]>();
    for (const one of disjointClasses(sets)) {
      const code = one[0] ?? 0;
      this.#work += chains.length;
      const tails = chains.flatMap(({ head, tail }) =>
        head?.kind === 'terminal' && tail !== null && contains(head.set, code) ? [tail] : [],
      );
      if (tails.length === 0) continue;
      const rest = this.#alternative(tails);
      byTails.set(rest, [...(byTails.get(rest) ?? []), one]);
    }
    const divided = [...byTails].map(([rest, classes]) => this.#chain([this.#terminal(classes)], rest));
    return chains.some(({ head }) => head === null) ? [...divided, this.#empty] : divided;
  }

  /** A sequence that derives what any of the given ones derives. */
  #alternative(chains: readonly Chain[]): Chain {
    const distinct = [...new Set(chains)].sort((a, b) => a.id - b.id);
    const [only] = distinct;
    if (distinct.length === 1 && only !== undefined && only.length <= MAX_INLINE_SYMBOLS) return only;
    const key = distinct.map(({ id }) => id).join();
    let name = this.#byAlternatives.get(key);
    if (name === undefined) {
      this.#added += 1;
      this.#work += distinct.length;
      name = `${FACTORED}${this.#added}`;
      this.#byAlternatives.set(key, name);
      const first = distinct.reduce((bits, chain) => bits | this.#firstOf(chain), 0n);
      this.#rules.set(name, { alternatives: distinct, first, isNullable: distinct.some((chain) => chain.isNullable) });
    }
    return this.#chain([this.#intern({ kind: 'rule', name })], this.#empty);
  }

  /** Sequences that start with a terminal or are empty, and together derive what the given one derives. */
  #expanded(chain: Chain): readonly Chain[] {
    if (chain.head === null || chain.head.kind === 'terminal') return [chain];
    const cached = this.#expansions.get(chain);
    if (cached !== undefined) return cached;
    const chains = new Set<Chain>();
    const open = new Set<Chain>([chain]);
    // Iterating a set includes entries added meanwhile.
    for (const one of open) {
      this.#work += 1;
      if (one.head === null || one.head.kind === 'terminal') chains.add(one);
      else for (const next of this.#expansions.get(one) ?? this.#step(one)) open.add(next);
    }
    this.#expansions.set(chain, [...chains]);
    return [...chains];
  }

  /** Replaces the first symbol of a sequence by its expansion. */
  #step({ head, tail }: Chain): Chain[] {
    const rest = tail ?? this.#empty;
    if (head === null || head.kind === 'terminal') return [];
    if (head.kind === 'rule') {
      return (this.#rules.get(head.name)?.alternatives ?? []).map((chain) => this.#append(chain, rest));
    }
    const { sequence, least, most } = head;
    const more: GrammarSymbol = { ...head, least: Math.max(0, least - 1), most: most === null ? null : most - 1 };
    const once = this.#chain(sequence, more.most === 0 ? rest : this.#chain([this.#intern(more)], rest));
    return least > 0 ? [once] : [once, rest];
  }

  #append(chain: Chain, rest: Chain): Chain {
    return rest.head === null ? chain : this.#chain(toSequence(chain), rest);
  }

  #chain(symbols: SymbolSequence, rest: Chain): Chain {
    let chain = rest;
    for (let i = symbols.length - 1; i >= 0; i--) {
      const symbol = symbols[i];
      if (symbol !== undefined) chain = this.#prepend(this.#intern(symbol), chain);
    }
    return chain;
  }

  #prepend(head: GrammarSymbol, tail: Chain): Chain {
    tail.before ??= new Map();
    const cached = tail.before.get(head);
    if (cached !== undefined) return cached;
    this.#chains += 1;
    const id = this.#chains;
    const chain: Chain = { id, head, tail, length: tail.length + 1, before: null, first: null, isNullable: false };
    tail.before.set(head, chain);
    return chain;
  }

  #terminal(classes: readonly Characters[]): GrammarSymbol {
    const ranges = classes.flatMap((set) => pairs(set)).sort((a, b) => a[0] - b[0]);
    return this.#intern({ kind: 'terminal', set: ranges.flat() });
  }

  #intern(symbol: GrammarSymbol): GrammarSymbol {
    const interned = this.#interned.get(symbol);
    if (interned !== undefined) return interned;
    const key = this.#keyOf(symbol);
    const entry = this.#symbols.get(key) ?? symbol;
    this.#symbols.set(key, entry);
    this.#interned.set(symbol, entry);
    return entry;
  }

  #keyOf(symbol: GrammarSymbol): string {
    if (symbol.kind === 'terminal') return symbol.set.join();
    if (symbol.kind === 'rule') return `rule ${symbol.name}`;
    return `${this.#chain(symbol.sequence, this.#empty).id}{${symbol.least},${symbol.most}}`;
  }

  /** Cached: the rules do not change any more. */
  #firstOf(chain: Chain): bigint {
    if (chain.first !== null) return chain.first;
    const { first, isNullable } = this.#derived(chain);
    chain.first = first;
    chain.isNullable = isNullable;
    return first;
  }

  /** First set of a sequence, from the known first sets of rules. */
  #derived(chain: Chain): { first: bigint; isNullable: boolean } {
    let first = 0n;
    for (let at: Chain | null = chain; at !== null && at.head !== null; at = at.tail) {
      const symbol = this.#firstOfSymbol(at.head);
      first |= symbol.first;
      if (!symbol.isNullable) return { first, isNullable: false };
    }
    return { first, isNullable: true };
  }

  #firstOfSymbol(symbol: GrammarSymbol): { first: bigint; isNullable: boolean } {
    if (symbol.kind === 'terminal') return { first: this.#firstOfCharacters(symbol.set), isNullable: false };
    if (symbol.kind === 'rule') return this.#rules.get(symbol.name) ?? { first: 0n, isNullable: false };
    const { first, isNullable } = this.#derived(this.#chain(symbol.sequence, this.#empty));
    return { first, isNullable: isNullable || symbol.least === 0 };
  }

  #firstOfCharacters(set: Characters): bigint {
    const cached = this.#firstOfSet.get(set);
    if (cached !== undefined) return cached;
    let bits = 0n;
    for (const [from, to] of pairs(set)) {
      for (let code = from; code <= Math.min(to, 127); code++) bits |= 1n << BigInt(code);
      if (to > 127) bits |= OTHERS;
    }
    this.#firstOfSet.set(set, bits);
    return bits;
  }

  /**
   * Computes the first set of every rule by fixpoint iteration: a rule is revisited when the first set of a rule that
   * it starts with has changed.
   */
  #findFirsts(): void {
    const usedBy = new Map<string, Set<string>>();
    for (const [name, { alternatives }] of this.#rules) {
      for (const chain of alternatives) {
        for (const used of collectNames(toSequence(chain))) usedBy.set(used, (usedBy.get(used) ?? new Set()).add(name));
      }
    }
    const open = new Set(this.#rules.keys());
    // Iterating a set includes entries added meanwhile, also those that were removed.
    for (const name of open) {
      open.delete(name);
      const rule = this.#rules.get(name);
      if (rule === undefined) continue;
      let [first, isNullable] = [rule.first, rule.isNullable];
      for (const chain of rule.alternatives) {
        const derived = this.#derived(chain);
        first |= derived.first;
        isNullable ||= derived.isNullable;
      }
      if (first === rule.first && isNullable === rule.isNullable) continue;
      rule.first = first;
      rule.isNullable = isNullable;
      for (const user of usedBy.get(name) ?? []) open.add(user);
    }
  }
}

const collectSymbols = (chains: readonly Chain[]): number => chains.reduce((sum, { length }) => sum + length, 0);

function toSequence(chain: Chain): GrammarSymbol[] {
  const symbols: GrammarSymbol[] = [];
  for (let at: Chain | null = chain; at !== null && at.head !== null; at = at.tail) symbols.push(at.head);
  return symbols;
}

function* collectNames(sequence: SymbolSequence): Generator<string, void, undefined> {
  for (const symbol of sequence) {
    if (symbol.kind === 'rule') yield symbol.name;
    else if (symbol.kind === 'repetition') yield* collectNames(symbol.sequence);
  }
}

function pairs(set: Characters): [from: number, to: number][] {
  return Array.from({ length: set.length / 2 }, (_, i) => [set[2 * i] ?? 0, set[2 * i + 1] ?? 0]);
}
