import { UnsupportedSchemaError } from '../unsupported-schema-error.ts';
import {
  ANY_STRING,
  type Automaton,
  acceptedLengths,
  buildAutomaton,
  difference,
  intersection,
  lengthRange,
} from './automaton.ts';
import type { Case } from './cases.ts';
import { formatBits, formatPattern } from './formats.ts';
import { EXCLUDED, type Internal, type SchemaPart, schemaTypes, UNMATCHED } from './keywords.ts';
import type { NumberLimits } from './number-language.ts';
import { literalPattern, PatternError } from './pattern.ts';
import { patternLanguage } from './pattern-language.ts';

/** Largest count that is enforced: hardly any completion is as long. */
const LARGEST_COUNT = 200_000;
/**
 * Upper bounds from here on are ignored: with a million tokens of context and 256 characters in each, no completion
 * reaches them. Generated schemas state the largest integer of their language.
 */
const UNREACHABLE_COUNT = 2 ** 28;
/** Maximum product of states and length; above it, texts are kept shorter than allowed. */
const MAX_COUNTED_STATES = 4_000;

/** Maximum patterns and formats per text: states multiply. */
const MAX_PATTERNS = 8;

/** The tightest counts of a case. `most` is null when unbounded. */
export interface Counts {
  least: number;
  most: number | null;
}

/**
 * Reads `low` and `high`, such as `minItems` and `maxItems`. A large `most` is lowered or ignored, because hardly any
 * completion, or none, reaches it; a large `least` throws.
 */
export function countLimits(parts: Case, low: string, high: string): Counts {
  let least = 0;
  let most: number | null = null;
  for (const { schema, path } of parts) {
    const [from, to] = [schema[low], schema[high]];
    if (typeof from === 'number' && from > LARGEST_COUNT) {
      throw new UnsupportedSchemaError(`${path}.${low}`, `is not supported beyond ${LARGEST_COUNT}`);
    }
    if (typeof from === 'number') least = Math.max(least, from);
    if (typeof to === 'number' && to < UNREACHABLE_COUNT) most = Math.min(most ?? LARGEST_COUNT, to);
  }
  return { least, most };
}

/** The number constraints of all parts of a case. */
export function numberLimits(parts: Case): NumberLimits {
  const limits: NumberLimits = {
    whole: parts.some(({ schema }) => schemaTypes(schema).whole || formatBits(schema['format']) !== null),
    minimum: null,
    maximum: null,
    aboveMinimum: false,
    belowMaximum: false,
    steps: parts.flatMap(({ schema }) => (typeof schema['multipleOf'] === 'number' ? [schema['multipleOf']] : [])),
  };
  const raise = (bound: unknown, excluded: boolean): void => {
    if (typeof bound !== 'number' || (limits.minimum !== null && bound < limits.minimum)) return;
    limits.aboveMinimum = excluded || (bound === limits.minimum && limits.aboveMinimum);
    limits.minimum = bound;
  };
  const lower = (bound: unknown, excluded: boolean): void => {
    if (typeof bound !== 'number' || (limits.maximum !== null && bound > limits.maximum)) return;
    limits.belowMaximum = excluded || (bound === limits.maximum && limits.belowMaximum);
    limits.maximum = bound;
  };
  for (const { schema } of parts) {
    // In draft 4, a flag excludes the bound beside it.
    raise(schema['minimum'], schema['exclusiveMinimum'] === true);
    lower(schema['maximum'], schema['exclusiveMaximum'] === true);
    raise(schema['exclusiveMinimum'], true);
    lower(schema['exclusiveMaximum'], true);
    const bits = formatBits(schema['format']);
    if (bits === null) continue;
    raise(-(2 ** (bits - 1)), false);
    lower(2 ** (bits - 1), true);
  }
  return limits;
}

/** The text constraints of a case: only lengths, or an automaton that includes them. */
export type TextLimits = { kind: 'lengths'; counts: Counts } | { kind: 'automaton'; automaton: Automaton };

/** The text constraints of all parts of a case. Throws for a pattern or format that cannot be enforced. */
export function textLimits(parts: Case): TextLimits {
  const counts = countLimits(parts, 'minLength', 'maxLength');
  const languages = parts.flatMap(patternLanguages);
  if (languages.length === 0) return { kind: 'lengths', counts };
  const path = parts[0]?.path ?? '';
  if (languages.length > MAX_PATTERNS)
    throw new UnsupportedSchemaError(path, `asks for more than ${MAX_PATTERNS} patterns at once`);
  const all = withErrorPath(path, () =>
    languages.reduce(
      ({ language }, one) => ({
        language: (one.excluded ? difference : intersection)(language, one.language),
        excluded: false,
      }),
      { language: ANY_STRING, excluded: false },
    ),
  ).language;
  return { kind: 'automaton', automaton: withErrorPath(path, () => restrictLengths(all, counts)) };
}

function restrictLengths(automaton: Automaton, { least, most }: Counts): Automaton {
  const contains = acceptedLengths(automaton);
  const tooShort = contains.least < least;
  const tooLong = most !== null && (contains.most === null || contains.most > most);
  if (!tooShort && !tooLong) return automaton;
  const affordable = Math.floor(MAX_COUNTED_STATES / automaton.next.length);
  const cache = tooLong ? Math.max(least, Math.min(most, affordable)) : null;
  return intersection(automaton, lengthRange(tooShort ? least : 0, cache));
}

function patternLanguages({ schema, path }: SchemaPart): { language: Automaton; excluded: boolean }[] {
  const limits: { language: Automaton; excluded: boolean }[] = [];
  const { pattern, format } = schema as { pattern?: unknown; format?: unknown };
  if (typeof pattern === 'string') {
    limits.push({ language: withErrorPath(`${path}.pattern`, () => patternLanguage(pattern)), excluded: false });
  }
  if (typeof format === 'string') {
    const source = formatPattern(format);
    if (source !== null) limits.push({ language: patternLanguage(source), excluded: false });
  }
  const { [EXCLUDED]: value, [UNMATCHED]: unmatched } = schema as Internal;
  if (typeof value === 'string') limits.push({ language: buildAutomaton(literalPattern(value)), excluded: true });
  if (unmatched !== undefined)
    limits.push({ language: withErrorPath(path, () => patternLanguage(unmatched)), excluded: true });
  return limits;
}

/** Runs `make` and converts a `PatternError` to an error with the field. */
export function withErrorPath<Result>(path: string, make: () => Result): Result {
  try {
    return make();
  } catch (error) {
    if (error instanceof PatternError) throw new UnsupportedSchemaError(path, error.message);
    throw error;
  }
}
