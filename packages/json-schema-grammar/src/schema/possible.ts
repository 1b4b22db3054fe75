import { isEmpty } from './automaton.ts';
import { countLimits, numberLimits, textLimits } from './bounds.ts';
import type { Case } from './cases.ts';
import type { Evaluator } from './evaluate.ts';
import { JSON_TYPES, type JsonType, jsonType, type Located, listedValues, schemaTypes } from './keywords.ts';
import { listedNames, memberSchemas } from './members.ts';
import { hasNoNumbers, numberLanguage } from './number-language.ts';

/** Returns the enumerated values that all parts of a case accept; null when there is no enumeration. */
export function finiteValues(parts: Case, evaluator: Evaluator): unknown[] | null {
  const lists = parts.map(({ schema }) => listedValues(schema)).filter((list) => list !== null);
  const shortest = lists.toSorted((a, b) => a.length - b.length)[0];
  return shortest?.filter((value) => parts.every(({ schema }) => evaluator.ownAccepts(schema, value))) ?? null;
}

/** Returns the types that a case allows. */
export function possibleTypes(parts: Case): JsonType[] {
  return parts.reduce<JsonType[]>(
    (left, { schema }) => {
      const { types } = schemaTypes(schema);
      return left.filter((type) => types.includes(type));
    },
    [...JSON_TYPES],
  );
}

/**
 * Whether a case may accept something. False is certain, true is not. `mayAll`: the same for schemas that must hold
 * together; may return true without examining them.
 */
export function isPossible(
  parts: Case,
  evaluator: Evaluator,
  mayAll: (schemas: readonly Located[]) => boolean,
): boolean {
  const types = possibleTypes(parts);
  if (types.length === 0) return false;
  const values = finiteValues(parts, evaluator);
  if (values !== null) return values.some((value) => types.includes(jsonType(value)));
  return types.some((type) => isTypePossible(type, parts, mayAll));
}

function isTypePossible(type: JsonType, parts: Case, mayAll: (schemas: readonly Located[]) => boolean): boolean {
  if (type === 'object') return areMembersPossible(parts, mayAll);
  if (type === 'array') return inOrder(parts, 'minItems', 'maxItems');
  if (type === 'string') {
    const limits = textLimits(parts);
    return limits.kind === 'lengths' ? inOrder(parts, 'minLength', 'maxLength') : !isEmpty(limits.automaton);
  }
  if (type !== 'number') return true;
  const limits = numberLimits(parts);
  if (limits.minimum === null || limits.maximum === null) return true;
  const language = numberLanguage(limits);
  return language === null || !hasNoNumbers(language);
}

function inOrder(parts: Case, low: string, high: string): boolean {
  const { least, most } = countLimits(parts, low, high);
  return most === null || least <= most;
}

function areMembersPossible(parts: Case, mayAll: (schemas: readonly Located[]) => boolean): boolean {
  if (!inOrder(parts, 'minProperties', 'maxProperties')) return false;
  return [...listedNames(parts).required].every((name) => {
    const schemas = memberSchemas(parts, name);
    if (schemas.some(({ schema }) => schema === false)) return false;
    return schemas.length < 2 || mayAll(schemas);
  });
}
