import { contains } from '../schema/characters.ts';
import type { GrammarElements } from './elements.ts';

/** Characters that fill what must not be empty, best first. */
const FILLERS = Array.from('a0" {}[]:,-.', (char) => char.charCodeAt(0));

/** Minimum characters that complete what a grammar has begun. */
export interface ShortestEnd {
  /** Minimum characters from a position in the code to the end of its sequence; infinite if it never ends. */
  lengthFrom(at: number): number;
  /** A character that the terminal at a position accepts. */
  characterAt(at: number): string;
}

const cache = new WeakMap<GrammarElements, ShortestEnd>();

/** The shortest ends of a grammar, computed once for each. */
export function findShortestEnd(elements: GrammarElements): ShortestEnd {
  const end = cache.get(elements) ?? computeShortestEnd(elements);
  cache.set(elements, end);
  return end;
}

function computeShortestEnd({ code, rules, alternatives, sets }: GrammarElements): ShortestEnd {
  const lengths = new Float64Array(rules.length - 1).fill(Number.POSITIVE_INFINITY);
  const lengthFrom = (at: number): number => {
    let length = 0;
    for (let place = at; code[place] !== 0 && code[place] !== undefined; place++) {
      const element = code[place] ?? 0;
      length += element > 0 ? 1 : (lengths[-element - 1] ?? 0);
    }
    return length;
  };
  const shortest = (rule: number): number => {
    let least = Number.POSITIVE_INFINITY;
    for (let way = rules[rule] ?? 0; way < (rules[rule + 1] ?? 0); way++)
      least = Math.min(least, lengthFrom(alternatives[way] ?? 0));
    return least;
  };
  for (let hasChanged = true; hasChanged; ) {
    hasChanged = false;
    // Last rules first: repetitions stand behind the rules that contain them.
    for (let rule = lengths.length - 1; rule >= 0; rule--) {
      const length = shortest(rule);
      if (length >= (lengths[rule] ?? 0)) continue;
      lengths[rule] = length;
      hasChanged = true;
    }
  }
  const characterAt = (at: number): string => {
    const set = sets[(code[at] ?? 0) - 1] ?? [];
    return String.fromCodePoint(FILLERS.find((each) => contains(set, each)) ?? set[0] ?? 0);
  };
  return { lengthFrom, characterAt };
}
