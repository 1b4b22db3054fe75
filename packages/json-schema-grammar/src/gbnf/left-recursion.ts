import type { GrammarElements } from './elements.ts';
import { GrammarError } from './rules.ts';

/** Maximum paths through leftmost rules. llama.cpp walks each of them, a million in 10 ms. */
const MAX_PATHS = 1_000_000;

/**
 * Throws `GrammarError` for a left-recursive rule, or when llama.cpp's own check would take too long: it walks every
 * path, and misses rules that are empty through others, which it then expands without end.
 */
export function rejectLeftRecursion(elements: GrammarElements): void {
  const beginnings = leftmostRules(elements, emptyRules(elements));
  /** Paths from a rule; null while it is being visited. */
  const paths = new Map<number, number | null>();
  for (const start of beginnings.keys()) {
    const walk = [start];
    for (let rule = walk.at(-1); rule !== undefined; rule = walk.at(-1)) {
      const begun = beginnings[rule] ?? [];
      if (paths.get(rule) === undefined) {
        paths.set(rule, null);
        for (const other of begun) {
          if (paths.get(other) === null) throw new GrammarError('one of its rules is left-recursive');
          if (!paths.has(other)) walk.push(other);
        }
        continue;
      }
      walk.pop();
      if (paths.get(rule) !== null) continue;
      const count = begun.reduce((sum, other) => sum + (paths.get(other) ?? 0), 1);
      if (count > MAX_PATHS) throw new GrammarError('too many of its rules start with each other');
      paths.set(rule, count);
    }
  }
}

/** For each rule, the rules that may be leftmost in it, with repetition. */
function leftmostRules({ code, alternatives, rules }: GrammarElements, empty: ReadonlySet<number>): number[][] {
  return Array.from({ length: rules.length - 1 }, (_, rule) => {
    const cycle: number[] = [];
    for (let way = rules[rule] ?? 0; way < (rules[rule + 1] ?? 0); way++) {
      for (let at = alternatives[way] ?? 0; (code[at] ?? 0) < 0; at++) {
        const begun = -(code[at] ?? 0) - 1;
        cycle.push(begun);
        if (!empty.has(begun)) break;
      }
    }
    return cycle;
  });
}

/** Rules that derive the empty text. */
function emptyRules({ code, alternatives, rules }: GrammarElements): Set<number> {
  const empty = new Set<number>();
  const usedBy = new Map<number, number[]>();
  const isEmpty = (rule: number): boolean => {
    for (let way = rules[rule] ?? 0; way < (rules[rule + 1] ?? 0); way++) {
      let at = alternatives[way] ?? 0;
      while ((code[at] ?? 0) < 0 && empty.has(-(code[at] ?? 0) - 1)) at += 1;
      if (code[at] === 0) return true;
      // The rule is revisited when the rule that stops it here turns out to be nullable.
      const stop = -(code[at] ?? 0) - 1;
      if (stop < 0) continue;
      // Appended in place: thousands of rules may start with the same one.
      const users = usedBy.get(stop);
      if (users === undefined) usedBy.set(stop, [rule]);
      else users.push(rule);
    }
    return false;
  };
  const open = Array.from({ length: rules.length - 1 }, (_, rule) => rule);
  for (let rule = open.pop(); rule !== undefined; rule = open.pop()) {
    if (empty.has(rule) || !isEmpty(rule)) continue;
    empty.add(rule);
    for (const user of usedBy.get(rule) ?? []) open.push(user);
    usedBy.delete(rule);
  }
  return empty;
}
