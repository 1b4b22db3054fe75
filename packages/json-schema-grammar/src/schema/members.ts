import { type Automaton, buildAutomaton, difference, intersection, isEmpty, matchesText } from './automaton.ts';
import { withErrorPath } from './bounds.ts';
import type { Case } from './cases.ts';
import { isSchema, type Located, ownProperty, type SchemaPart } from './keywords.ts';
import { literalPattern } from './pattern.ts';
import { patternLanguage } from './pattern-language.ts';

/** Maximum kinds of unlisted members: each pattern may double them. */
const MAX_KINDS = 32;
/** Maximum characters of listed names that other names are distinguished from: each takes a rule. */
const MAX_NAME_CHARACTERS = 3_000;

/** Members that are not listed: names of an automaton, with values that satisfy all schemas. */
export interface MemberKind {
  names: Automaton;
  values: Located[];
}

/** Returns the names that a case lists, in order, then those that are only required. */
export function listedNames(parts: Case): { names: string[]; required: ReadonlySet<string> } {
  const names = new Set<string>();
  const required = new Set<string>();
  for (const { schema } of parts) for (const name of Object.keys(schema['properties'] ?? {})) names.add(name);
  for (const { schema } of parts) {
    for (const name of Array.isArray(schema['required']) ? schema['required'] : []) {
      names.add(String(name));
      required.add(String(name));
    }
  }
  return { names: [...names], required };
}

/** Returns the schemas of a member's value. `false` among them: the member must be absent. */
export function memberSchemas(parts: Case, name: string): Located[] {
  return parts.flatMap((part) => {
    const { schema, path } = part;
    const value = ownProperty(schema['properties'], name);
    const schemas: Located[] = value === undefined ? [] : [{ schema: value, path: `${path}.properties.${name}` }];
    for (const pattern of patternSources(part)) if (matchesText(pattern.language, name)) schemas.push(pattern.value);
    if (schemas.length === 0 && schema['additionalProperties'] !== undefined) {
      schemas.push({ schema: schema['additionalProperties'], path: `${path}.additionalProperties` });
    }
    return schemas.filter((one) => one.schema !== true);
  });
}

/** Returns the schemas of `propertyNames`. */
export const nameSchemas = (parts: Case): Located[] =>
  parts.flatMap(({ schema, path }) =>
    schema['propertyNames'] === undefined ? [] : [{ schema: schema['propertyNames'], path: `${path}.propertyNames` }],
  );

/** Returns the kinds of members beside the listed `names`. `allowed`: names that members may have. */
export function memberKinds(parts: Case, names: readonly string[], allowed: Automaton): MemberKind[] {
  const path = parts[0]?.path ?? '';
  // Decided first, because a closed object is the common case.
  const closed = parts.some(({ schema }) => schema['additionalProperties'] === false);
  const patterns = new Map(parts.flatMap(patternSources).map((pattern) => [pattern.source, pattern.language]));
  if (closed && patterns.size === 0) return [];
  if (names.reduce((sum, name) => sum + name.length, 0) > MAX_NAME_CHARACTERS) return [];
  return withErrorPath(path, () => {
    let kinds = [{ names: allowed, matched: new Set<string>() }];
    for (const [source, language] of patterns) {
      kinds = kinds.flatMap(({ names: all, matched }) => [
        { names: intersection(all, language), matched: new Set([...matched, source]) },
        { names: difference(all, language), matched },
      ]);
      kinds = kinds.filter((kind) => !isEmpty(kind.names));
      if (kinds.length > MAX_KINDS) return [];
    }
    return kinds.flatMap(({ names: all, matched }) => {
      const values = parts.flatMap((part) => valueSchemas(part, matched));
      if (values.some(({ schema }) => schema === false)) return [];
      const others = subtract(all, names);
      return isEmpty(others) ? [] : [{ names: others, values: values.filter(({ schema }) => schema !== true) }];
    });
  });
}

const cache = new WeakMap<Automaton, Map<string, Automaton>>();
/** Cached lists of names per automaton: cases of one schema list the same names. */
const MAX_CACHED = 64;

/** Names that are not listed. Equal lists give the same automaton, which is then written once. */
function subtract(all: Automaton, names: readonly string[]): Automaton {
  if (names.length === 0) return all;
  const differences = cache.get(all) ?? new Map<string, Automaton>();
  cache.set(all, differences);
  const key = JSON.stringify(names.toSorted());
  const language =
    differences.get(key) ?? difference(all, buildAutomaton({ kind: 'choice', parts: names.map(literalPattern) }));
  if (differences.size >= MAX_CACHED) differences.clear();
  differences.set(key, language);
  return language;
}

function valueSchemas(part: SchemaPart, matched: ReadonlySet<string>): Located[] {
  const languages = patternSources(part)
    .filter(({ source }) => matched.has(source))
    .map(({ value }) => value);
  const additional = part.schema['additionalProperties'];
  if (languages.length > 0 || additional === undefined) return languages;
  return [{ schema: additional, path: `${part.path}.additionalProperties` }];
}

function patternSources({ schema, path }: SchemaPart): { source: string; language: Automaton; value: Located }[] {
  const value = schema['patternProperties'];
  return Object.entries(isSchema(value) ? value : {}).map(([source, value]) => {
    const at = `${path}.patternProperties.${source}`;
    return { source, language: withErrorPath(at, () => patternLanguage(source)), value: { schema: value, path: at } };
  });
}
