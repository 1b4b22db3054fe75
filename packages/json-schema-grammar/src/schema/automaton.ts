import { ALL_CHARACTERS, type Characters, contains, disjointClasses, intersect, unite } from './characters.ts';
import { type Pattern, PatternError } from './pattern.ts';

/** Maximum states of an automaton. */
const MAX_STATES = 4_000;
/** Maximum nodes visited to determinize a pattern: keeps any pattern below a second. */
const MAX_VISITS = 3_000_000;
/** Maximum nodes of the nondeterministic automaton, which nested counts multiply. */
const MAX_NODES = 20_000;
/** Maximum states on cycles, or before them, that are minimized: the work is quadratic. */
const MAX_REFINED = 250;

/** A deterministic finite automaton over character classes. State 0 is the start; -1 is no transition. */
export interface Automaton {
  classes: readonly Characters[];
  /** Next state by class, for each state. */
  next: readonly (readonly number[])[];
  accepts: readonly boolean[];
}

/**
 * Explores all reachable states. `next` returns the key of the state behind a class, or null; equal keys are equal
 * states. Throws `PatternError` when there are too many.
 */
export function explore<State>(
  classes: readonly Characters[],
  start: State,
  rules: {
    key(state: State): string;
    next(state: State, index: number): State | null;
    accepts(state: State): boolean;
  },
): Automaton {
  const numbers = new Map([[rules.key(start), 0]]);
  const states = [start];
  const next: number[][] = [];
  for (let i = 0; i < states.length; i++) {
    const state = states[i] as State;
    next.push(
      classes.map((_, index) => {
        const next = rules.next(state, index);
        if (next === null) return -1;
        const key = rules.key(next);
        const number = numbers.get(key);
        if (number !== undefined) return number;
        if (states.length >= MAX_STATES) throw new PatternError('is too large to be enforced');
        numbers.set(key, states.length);
        states.push(next);
        return states.length - 1;
      }),
    );
  }
  return minimize({ classes, next, accepts: states.map((state) => rules.accepts(state)) });
}

/** A node of the nondeterministic automaton: reads a character, or is an epsilon transition. */
interface Node {
  set: Characters | null;
  /** Successor nodes. `^` and `$` match at the ends of the text only. */
  to: { node: number; only: 'start' | 'end' | null }[];
}

class NodeList {
  readonly nodes: Node[] = [];

  add(): number {
    if (this.nodes.length >= MAX_NODES) throw new PatternError('is too large to be enforced');
    this.nodes.push({ set: null, to: [] });
    return this.nodes.length - 1;
  }

  link(from: number, to: number, only: 'start' | 'end' | null = null): void {
    this.nodes[from]?.to.push({ node: to, only });
  }

  /** Adds the nodes of `pattern` behind `from` and returns the last one. */
  append(pattern: Pattern, from: number): number {
    switch (pattern.kind) {
      case 'set': {
        const [node, end] = [this.add(), this.add()];
        const made = this.nodes[node];
        if (made !== undefined) made.set = pattern.set;
        this.link(from, node);
        this.link(node, end);
        return end;
      }
      case 'sequence':
        return pattern.parts.reduce((at, part) => this.append(part, at), from);
      case 'choice': {
        const end = this.add();
        for (const part of pattern.parts) {
          const start = this.add();
          this.link(from, start);
          this.link(this.append(part, start), end);
        }
        return end;
      }
      case 'repeat':
        return this.#repeat(pattern, from);
      case 'start':
      case 'end': {
        const end = this.add();
        this.link(from, end, pattern.kind);
        return end;
      }
      case 'ahead':
        throw new PatternError('looks ahead within itself, which cannot be enforced');
    }
  }

  #repeat({ part, least, most }: { part: Pattern; least: number; most: number | null }, from: number): number {
    let at = from;
    for (let i = 0; i < least; i++) at = this.append(part, at);
    if (most === null) {
      const loop = this.add();
      this.link(at, loop);
      this.link(this.append(part, loop), loop);
      return loop;
    }
    const end = this.add();
    this.link(at, end);
    for (let i = least; i < most; i++) {
      at = this.append(part, at);
      this.link(at, end);
    }
    return end;
  }
}

/** Builds an automaton for texts that match the whole pattern. Throws `PatternError` when it is too large. */
export function buildAutomaton(pattern: Pattern): Automaton {
  const list = new NodeList();
  const start = list.add();
  const end = list.append(pattern, start);
  const { nodes } = list;
  const classes = disjointClasses(nodes.flatMap((node) => (node.set === null ? [] : [node.set])));
  const reads = nodes.map((node) =>
    node.set === null ? [] : classes.map((one) => contains(node.set ?? [], one[0] ?? 0)),
  );
  let visits = 0;
  const closure = (from: Iterable<number>, atStart: boolean, atEnd: boolean): number[] => {
    const seen = new Set(from);
    for (const node of seen) {
      visits += 1;
      if (visits > MAX_VISITS) throw new PatternError('is too large to be enforced');
      if (nodes[node]?.set !== null) continue;
      for (const { node: to, only } of nodes[node]?.to ?? []) {
        if (only === null || (only === 'start' ? atStart : atEnd)) seen.add(to);
      }
    }
    return [...seen].sort((a, b) => a - b);
  };
  interface Position {
    at: number[];
    atStart: boolean;
  }
  return explore<Position>(
    classes,
    { at: closure([start], true, false), atStart: true },
    {
      key: ({ at, atStart }) => `${atStart ? '^' : ''}${at.join()}`,
      next: ({ at }, index) => {
        const reached = at.flatMap((node) => (reads[node]?.[index] === true ? (nodes[node]?.to ?? []) : []));
        if (reached.length === 0) return null;
        return {
          at: closure(
            reached.map(({ node }) => node),
            false,
            false,
          ),
          atStart: false,
        };
      },
      accepts: ({ at, atStart }) => closure(at, atStart, true).includes(end),
    },
  );
}

/** Product automaton: accepts a text according to whether each of the two accepts it. */
function combine(a: Automaton, b: Automaton, both: (inA: boolean, inB: boolean) => boolean): Automaton {
  const classes: Characters[] = [];
  const pairs: [number, number][] = [];
  for (const [i, one] of a.classes.entries()) {
    for (const [j, other] of b.classes.entries()) {
      const shared = intersect(one, other);
      if (shared.length === 0) continue;
      classes.push(shared);
      pairs.push([i, j]);
    }
  }
  const step = (automaton: Automaton, state: number, index: number): number =>
    state < 0 ? -1 : (automaton.next[state]?.[index] ?? -1);
  const accepts = (automaton: Automaton, state: number): boolean => state >= 0 && automaton.accepts[state] === true;
  return explore<[number, number]>(classes, [0, 0], {
    key: ([x, y]) => `${x},${y}`,
    next: ([x, y], index) => {
      const [i, j] = pairs[index] ?? [0, 0];
      const [p, q] = [step(a, x, i), step(b, y, j)];
      const noWay = both(false, false) ? false : (p < 0 && !both(false, true)) || (q < 0 && !both(true, false));
      return noWay ? null : [p, q];
    },
    accepts: ([x, y]) => both(accepts(a, x), accepts(b, y)),
  });
}

/** Texts that both accept. */
export const intersection = (a: Automaton, b: Automaton): Automaton => combine(a, b, (inA, inB) => inA && inB);

/** Texts that the first accepts and the second does not. */
export const difference = (a: Automaton, b: Automaton): Automaton => combine(a, b, (inA, inB) => inA && !inB);

/** Texts that either accepts. */
export const union = (a: Automaton, b: Automaton): Automaton => combine(a, b, (inA, inB) => inA || inB);

/** Accepts every text. */
export const ANY_STRING: Automaton = { classes: [ALL_CHARACTERS], next: [[0]], accepts: [true] };

/** Accepts no text. */
export const NO_STRING: Automaton = { classes: [ALL_CHARACTERS], next: [[-1]], accepts: [false] };

/** Texts with a length in a range. */
export function lengthRange(least: number, most: number | null): Automaton {
  return explore([ALL_CHARACTERS], 0, {
    key: String,
    next: (length) => (length === most ? null : most === null && length === least ? length : length + 1),
    accepts: (length) => length >= least,
  });
}

/** Whether an automaton accepts nothing. */
export const isEmpty = (automaton: Automaton): boolean => !automaton.accepts.includes(true);

/** Whether an automaton accepts a text. */
export function matchesText(automaton: Automaton, text: string): boolean {
  let state = 0;
  for (const char of text) {
    const code = char.codePointAt(0) ?? 0;
    const index = automaton.classes.findIndex((one) => contains(one, code));
    state = automaton.next[state]?.[index] ?? -1;
    if (state < 0) return false;
  }
  return automaton.accepts[state] === true;
}

/** Minimum and maximum length of the accepted texts; the latter null when unbounded. */
export function acceptedLengths(automaton: Automaton): { least: number; most: number | null } {
  let least = 0;
  let reached = new Set([0]);
  while (reached.size > 0 && ![...reached].some((state) => automaton.accepts[state])) {
    reached = new Set([...reached].flatMap((state) => automaton.next[state] ?? []).filter((state) => state >= 0));
    least += 1;
    if (least > automaton.next.length) break;
  }
  const longest = new Map<number, number | null>();
  // Iterative depth-first search: a state that is reached again while open is on a cycle.
  const stack: { state: number; open: boolean }[] = [{ state: 0, open: false }];
  const opened = new Set<number>();
  while (stack.length > 0) {
    const top = stack.pop() ?? { state: 0, open: true };
    const targets = [...new Set(automaton.next[top.state])].filter((state) => state >= 0);
    if (top.open) {
      longest.set(
        top.state,
        targets.reduce((most, to) => Math.max(most, (longest.get(to) ?? 0) + 1), 0),
      );
      opened.delete(top.state);
      continue;
    }
    if (longest.has(top.state)) continue;
    opened.add(top.state);
    stack.push({ state: top.state, open: true });
    for (const to of targets) {
      if (opened.has(to)) return { least, most: null };
      stack.push({ state: to, open: false });
    }
  }
  return { least, most: longest.get(0) ?? 0 };
}

/** Minimizes an automaton: removes dead states and merges equivalent ones. */
function minimize(value: Automaton): Automaton {
  const useful = liveStates(value);
  if (!useful.has(0)) return NO_STRING;
  const next = value.next.map((row) => row.map((to) => (useful.has(to) ? to : -1)));
  const block = partitionStates(next, value.accepts);
  const order = new Map<number, number>();
  const representatives: number[] = [];
  const queue = [0];
  order.set(block[0] ?? 0, 0);
  for (const state of queue) {
    representatives.push(state);
    for (const to of next[state] ?? []) {
      if (to < 0 || order.has(block[to] ?? 0)) continue;
      order.set(block[to] ?? 0, order.size);
      queue.push(to);
    }
  }
  const rows = representatives.map((state) =>
    (next[state] ?? []).map((to) => (to < 0 ? -1 : (order.get(block[to] ?? 0) ?? -1))),
  );
  return mergeClasses({
    classes: value.classes,
    next: rows,
    accepts: representatives.map((state) => value.accepts[state] === true),
  });
}

function liveStates({ next, accepts }: Automaton): Set<number> {
  const before: number[][] = next.map(() => []);
  for (const [from, row] of next.entries()) for (const to of new Set(row)) if (to >= 0) before[to]?.push(from);
  const useful = new Set(accepts.flatMap((accept, state) => (accept ? [state] : [])));
  for (const state of useful) for (const from of before[state] ?? []) useful.add(from);
  return useful;
}

/**
 * Block of each state: states of one block are equivalent. Acyclic states are compared bottom-up in one pass, the
 * others by partition refinement.
 */
function partitionStates(next: readonly (readonly number[])[], accepts: readonly boolean[]): number[] {
  const block = next.map(() => -1);
  const names = new Map<string, number>();
  const formatName = (state: number, self: number): string =>
    `${accepts[state] === true}:${(next[state] ?? []).map((to) => (to < 0 ? 'x' : to === state ? self : block[to])).join()}`;
  const done = acyclicStates(next);
  for (const state of done) {
    const targets = new Set((next[state] ?? []).map((to) => (to < 0 || to === state ? -1 : (block[to] ?? -1))));
    // A state that behaves like a successor with a self-loop is that successor.
    const twin = [...targets].find((to) => to >= 0 && names.get(formatName(state, to)) === to);
    const alone = next.length + names.size;
    const name = formatName(state, -1);
    block[state] = twin ?? names.get(name) ?? alone;
    const target = block[state] ?? alone;
    names.set(name, target);
    // Also under its own number, by which other states recognize the equivalence.
    names.set(formatName(state, target), target);
  }
  const cyclic = next.length - done.length;
  return cyclic === 0 || cyclic > MAX_REFINED
    ? block.map((known, state) => (known < 0 ? state : known))
    : refinePartition(next, accepts, block);
}

/** States whose transitions lead only to earlier states of the result or to themselves. */
function acyclicStates(next: readonly (readonly number[])[]): number[] {
  const before: number[][] = next.map(() => []);
  const waits = next.map((row, state) => {
    const targets = new Set(row.filter((to) => to >= 0 && to !== state));
    for (const to of targets) before[to]?.push(state);
    return targets.size;
  });
  const done = waits.flatMap((count, state) => (count === 0 ? [state] : []));
  for (const state of done) {
    for (const from of before[state] ?? []) {
      waits[from] = (waits[from] ?? 0) - 1;
      if (waits[from] === 0) done.push(from);
    }
  }
  return done;
}

/** Moore's partition refinement of the remaining states. */
function refinePartition(
  next: readonly (readonly number[])[],
  accepts: readonly boolean[],
  known: readonly number[],
): number[] {
  const open = known.flatMap((one, state) => (one < 0 ? [state] : []));
  const first = Math.max(...known, next.length) + 1;
  let block = known.map((one, state) => (one >= 0 ? one : first + (accepts[state] === true ? 1 : 0)));
  for (let count = 0; ; ) {
    const names = new Map<string, number>();
    const finer = [...block];
    for (const state of open) {
      const name = `${block[state]}:${(next[state] ?? []).map((to) => (to < 0 ? -1 : block[to])).join()}`;
      if (!names.has(name)) names.set(name, first + names.size);
      finer[state] = names.get(name) ?? first;
    }
    block = finer;
    if (names.size === count) return block;
    count = names.size;
  }
}

/** Merges classes with equal transitions in every state. */
function mergeClasses({ classes, next, accepts }: Automaton): Automaton {
  const columns = new Map<string, number[]>();
  for (const index of classes.keys()) {
    const key = next.map((row) => row[index]).join();
    columns.set(key, [...(columns.get(key) ?? []), index]);
  }
  const groups = [...columns.values()];
  return {
    classes: groups.map((group) => unite(...group.map((index) => classes[index] ?? []))),
    next: next.map((row) => groups.map((group) => row[group[0] ?? 0] ?? -1)),
    accepts,
  };
}
