import { type GrammarBuilder, literal } from '../grammar.ts';
import type { Automaton } from './automaton.ts';
import {
  ALL_CHARACTERS,
  type Characters,
  characters,
  charactersIn,
  contains,
  intersect,
  ranges,
  subtract,
  unite,
} from './characters.ts';

const CONTROLS = characters([[0, 0x1f]]);
const MUST_BE_ESCAPED = unite(CONTROLS, charactersIn('"\\'));
const SHORT_ESCAPES: readonly [code: number, letter: string][] = [
  [0x22, '"'],
  [0x5c, '\\'],
  [0x08, 'b'],
  [0x09, 't'],
  [0x0a, 'n'],
  [0x0c, 'f'],
  [0x0d, 'r'],
];
/** Maximum characters of an inlined rule. */
const INLINE = 48;

/** How texts are written: between JSON quotes, the closing one included, or plainly. */
export type Spelling = 'json' | 'plain';

const written = new WeakMap<GrammarBuilder, Map<Automaton, Partial<Record<Spelling, string>>>>();

/**
 * Returns an expression for the language of a non-empty automaton. Equal automata share rules. `path` is reported when
 * the grammar becomes too large.
 */
export function automatonRule(
  builder: GrammarBuilder,
  automaton: Automaton,
  how: { spelling: Spelling; path: string },
): string {
  const rules = written.get(builder) ?? new Map<Automaton, Partial<Record<Spelling, string>>>();
  written.set(builder, rules);
  const spellings = rules.get(automaton) ?? {};
  rules.set(automaton, spellings);
  spellings[how.spelling] ??= writeAutomaton(builder, automaton, how);
  return spellings[how.spelling] ?? '';
}

function writeAutomaton(
  builder: GrammarBuilder,
  automaton: Automaton,
  { spelling, path }: { spelling: Spelling; path: string },
): string {
  const { next, accepts } = automaton;
  const texts = new Map<number, string>();
  const end = spelling === 'json' ? literal('"') : '';
  const buildBody = (state: number): string => {
    const targets = new Map<number, Characters[]>();
    for (const [index, to] of (next[state] ?? []).entries()) {
      if (to >= 0) targets.set(to, [...(targets.get(to) ?? []), automaton.classes[index] ?? []]);
    }
    const ways = [...targets].flatMap(([to, sets]) =>
      spellings(unite(...sets), spelling, builder).map((text) => `${text} ${texts.get(to) ?? ''}`.trimEnd()),
    );
    if (accepts[state] === true) ways.push(end === '' ? '""' : end);
    return ways.join(' | ');
  };
  const { ordered, cyclic } = inOrder(automaton);
  for (const state of ordered) {
    if (isUniversal(automaton, state) && spelling === 'json') texts.set(state, builder.json('rest'));
    else {
      const body = buildBody(state);
      const inline = body.length <= INLINE && !body.includes('|');
      texts.set(state, inline ? body : builder.intern('text', body, path));
    }
  }
  for (const state of cyclic) texts.set(state, builder.freshName('text'));
  for (const state of cyclic) builder.define(texts.get(state) ?? '', buildBody(state), path);
  return texts.get(0) ?? '';
}

/** A state from which every text is accepted. */
function isUniversal({ classes, next, accepts }: Automaton, state: number): boolean {
  return (
    accepts[state] === true &&
    (next[state] ?? []).every((to) => to === state) &&
    unite(...classes).join() === ALL_CHARACTERS.join()
  );
}

/** States that reach no cycle, in topological order, and the others. */
function inOrder(automaton: Automaton): { ordered: number[]; cyclic: number[] } {
  const { next } = automaton;
  const before: number[][] = next.map(() => []);
  const waits = next.map((row, state) => {
    if (isUniversal(automaton, state)) return 0;
    const targets = new Set(row.filter((to) => to >= 0));
    for (const to of targets) before[to]?.push(state);
    return targets.size;
  });
  const ordered = waits.flatMap((count, state) => (count === 0 ? [state] : []));
  for (const state of ordered) {
    for (const from of before[state] ?? []) {
      waits[from] = (waits[from] ?? 0) - 1;
      if (waits[from] === 0) ordered.push(from);
    }
  }
  const done = new Set(ordered);
  return { ordered, cyclic: [...next.keys()].filter((state) => !done.has(state)) };
}

/**
 * Spellings of one character of a set. Each text has exactly one spelling, so characters that need no escape have none.
 */
function spellings(set: Characters, spelling: Spelling, builder: GrammarBuilder): string[] {
  if (spelling === 'plain') return [terminal(set)];
  const raw = subtract(set, MUST_BE_ESCAPED);
  const escaped = intersect(set, MUST_BE_ESCAPED);
  const ways = raw.length > 0 ? [terminal(raw)] : [];
  if (escaped.length === 0) return ways;
  const letters = SHORT_ESCAPES.filter(([code]) => contains(escaped, code)).map(([, letter]) => letter);
  const others = subtract(escaped, characters(SHORT_ESCAPES.map(([code]) => [code, code] as const)));
  const forms: string[] = [];
  if (letters.length > 0) forms.push(terminal(charactersIn(letters.join(''))));
  if (others.length > 0) {
    const all = subtract(CONTROLS, characters(SHORT_ESCAPES.map(([code]) => [code, code] as const)));
    if (others.join() === all.join()) forms.push(builder.json('control'));
    else forms.push(...listCodes(others).map((code) => literal(`u${code.toString(16).padStart(4, '0')}`)));
  }
  ways.push(`${literal('\\')} ${forms.length === 1 ? forms[0] : `(${forms.join(' | ')})`}`);
  return ways;
}

const listCodes = (set: Characters): number[] =>
  ranges(set).flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, i) => from + i));

/** Prints a character set as a terminal. */
export function terminal(set: Characters): string {
  if (set.length === 2 && set[0] === set[1]) return literal(String.fromCodePoint(set[0] ?? 0));
  return `[${ranges(set)
    .map(([from, to]) => (from === to ? inClass(from) : `${inClass(from)}-${inClass(to)}`))
    .join('')}]`;
}

function inClass(code: number): string {
  const char = String.fromCodePoint(code);
  if (/[A-Za-z0-9_ ]/.test(char)) return char;
  const hex = code.toString(16).toUpperCase();
  if (code <= 0xff) return `\\x${hex.padStart(2, '0')}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
}
