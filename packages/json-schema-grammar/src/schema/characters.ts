/** A set of code points: ascending, disjoint ranges, each as two numbers `from, to`, both inclusive. */
export type Characters = readonly number[];

const LAST = 0x10ffff;
/** Surrogates are not characters: UTF-8 cannot encode them. */
const SURROGATES = [0xd800, 0xdfff] as const;

/** Every character that UTF-8 can encode. */
export const ALL_CHARACTERS: Characters = [0, SURROGATES[0] - 1, SURROGATES[1] + 1, LAST];

/** Creates a set from ranges in any order, possibly overlapping. */
export function characters(ranges: readonly (readonly [from: number, to: number])[]): Characters {
  const sorted = ranges.filter(([from, to]) => from <= to).toSorted((a, b) => a[0] - b[0]);
  const merged: number[] = [];
  for (const [from, to] of sorted) {
    const last = merged.length - 1;
    if (last > 0 && from <= (merged[last] ?? 0) + 1) merged[last] = Math.max(merged[last] ?? 0, to);
    else merged.push(from, to);
  }
  return merged;
}

/** Returns the ranges of a set. */
export function ranges(set: Characters): [from: number, to: number][] {
  const ranges: [number, number][] = [];
  for (let i = 0; i + 1 < set.length; i += 2) ranges.push([set[i] ?? 0, set[i + 1] ?? 0]);
  return ranges;
}

/** Union. */
export const unite = (...sets: Characters[]): Characters => characters(sets.flatMap(ranges));

/** Intersection. */
export function intersect(a: Characters, b: Characters): Characters {
  const both: number[] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    const from = Math.max(a[i] ?? 0, b[j] ?? 0);
    const to = Math.min(a[i + 1] ?? 0, b[j + 1] ?? 0);
    if (from <= to) both.push(from, to);
    if ((a[i + 1] ?? 0) < (b[j + 1] ?? 0)) i += 2;
    else j += 2;
  }
  return both;
}

/** Difference: characters of `all` that are not in `set`. */
export function subtract(all: Characters, set: Characters): Characters {
  const gaps: [number, number][] = [];
  let from = 0;
  for (const [start, end] of ranges(set)) {
    gaps.push([from, start - 1]);
    from = end + 1;
  }
  gaps.push([from, LAST]);
  return intersect(all, characters(gaps));
}

/** Returns the set of the characters of a text. */
export const charactersIn = (text: string): Characters =>
  characters(Array.from(text, (char) => [char.codePointAt(0) ?? 0, char.codePointAt(0) ?? 0] as const));

/**
 * Returns the coarsest partition of all characters that respects the given sets, so that an automaton needs one
 * transition per class instead of one per character.
 */
export function disjointClasses(sets: readonly Characters[]): Characters[] {
  const borders = new Set<number>([0, SURROGATES[0], SURROGATES[1] + 1, LAST + 1]);
  const distinct = [...new Map(sets.map((set) => [set.join(), set])).values()];
  for (const set of distinct) {
    for (const [from, to] of ranges(set)) {
      borders.add(from);
      borders.add(to + 1);
    }
  }
  const cuts = [...borders].sort((a, b) => a - b);
  const classes = new Map<string, [number, number][]>();
  const cursors = distinct.map(() => 0);
  for (let i = 0; i + 1 < cuts.length; i++) {
    const [from, to] = [cuts[i] ?? 0, (cuts[i + 1] ?? 0) - 1];
    if (from >= SURROGATES[0] && to <= SURROGATES[1]) continue;
    const members = distinct.map((set, s) => {
      let at = cursors[s] ?? 0;
      while (at < set.length && (set[at + 1] ?? 0) < from) at += 2;
      cursors[s] = at;
      return at < set.length && (set[at] ?? 0) <= from ? '1' : '0';
    });
    const key = members.join('');
    const cached = classes.get(key);
    if (cached === undefined) classes.set(key, [[from, to]]);
    else cached.push([from, to]);
  }
  return [...classes.values()].map(characters);
}

/** Whether a set contains a character. */
export function contains(set: Characters, code: number): boolean {
  for (let i = 0; i + 1 < set.length; i += 2) if ((set[i] ?? 0) <= code && code <= (set[i + 1] ?? 0)) return true;
  return false;
}
