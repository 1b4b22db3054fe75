import { ANY_STRING, type Automaton, buildAutomaton, difference, intersection } from './automaton.ts';
import { ALL_CHARACTERS } from './characters.ts';
import { type Pattern, parsePattern } from './pattern.ts';

/** Cached automata: a client repeats the same few patterns. */
const MAX_CACHED = 256;
const ANY_TEXT: Pattern = { kind: 'repeat', part: { kind: 'set', set: ALL_CHARACTERS }, least: 0, most: null };

const cache = new Map<string, Automaton>();

/**
 * Builds an automaton for texts that contain a match of a regular expression. Throws `PatternError` when it is invalid
 * or cannot be converted to an automaton of bounded size.
 */
export function patternLanguage(source: string): Automaton {
  const cached = cache.get(source);
  if (cached !== undefined) return cached;
  const language = compileLanguage(parsePattern(source));
  if (cache.size >= MAX_CACHED) cache.clear();
  cache.set(source, language);
  return language;
}

function compileLanguage(pattern: Pattern): Automaton {
  const ahead = leadingLookaheads(pattern);
  if (ahead === null) return contains(pattern);
  return ahead.looks.reduce(
    (language, look) => (look.negated ? difference : intersection)(language, contains(fromStart(look.part))),
    contains(fromStart(ahead.rest)),
  );
}

const fromStart = (pattern: Pattern): Pattern => ({ kind: 'sequence', parts: [{ kind: 'start' }, pattern] });

function contains(pattern: Pattern): Automaton {
  if (pattern.kind === 'sequence' && pattern.parts.length === 0) return ANY_STRING;
  return buildAutomaton({ kind: 'sequence', parts: [ANY_TEXT, pattern, ANY_TEXT] });
}

/** `^(?!a)(?=b)c` as its parts: a lookahead at the start is a condition on the whole text. */
function leadingLookaheads(pattern: Pattern): { looks: { part: Pattern; negated: boolean }[]; rest: Pattern } | null {
  if (pattern.kind !== 'sequence' || pattern.parts[0]?.kind !== 'start') return null;
  const looks: { part: Pattern; negated: boolean }[] = [];
  let at = 1;
  for (let part = pattern.parts[at]; part?.kind === 'ahead'; part = pattern.parts[at]) {
    looks.push(part);
    at += 1;
  }
  return looks.length === 0 ? null : { looks, rest: { kind: 'sequence', parts: pattern.parts.slice(at) } };
}
