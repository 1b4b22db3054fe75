import { type Automaton, buildAutomaton, isEmpty, lengthRange, NO_STRING, union } from './automaton.ts';
import { automatonRule } from './automaton-grammar.ts';
import { textLimits, withErrorPath } from './bounds.ts';
import type { Case } from './cases.ts';
import type { Emitter, Leaf } from './emitter.ts';
import { listedValues, schemaTypes } from './keywords.ts';
import { literalPattern } from './pattern.ts';

/** Compiles a rule for texts; null when there are none. */
export function textRule({ builder }: Emitter, parts: Case): Leaf | null {
  const path = parts[0]?.path ?? '';
  const limits = textLimits(parts);
  if (limits.kind === 'automaton') {
    if (isEmpty(limits.automaton)) return null;
    const body = `"\\"" ${automatonRule(builder, limits.automaton, { spelling: 'json', path })}`;
    return { rule: builder.intern('text', body, path), needs: [] };
  }
  const { least, most } = limits.counts;
  if (most !== null && least > most) return null;
  if (least === 0 && most === null) return { rule: builder.json('string'), needs: [] };
  const chars = builder.repeat(builder.json('char'), limits.counts, path);
  return { rule: builder.intern('text', chars === '' ? '"\\"\\""' : `"\\"" ${chars} "\\""`, path), needs: [] };
}

/** Returns the texts that satisfy one of the cases. */
export function textLanguage({ evaluator }: Emitter, cases: readonly Case[]): Automaton {
  const path = cases[0]?.[0]?.path ?? '';
  return withErrorPath(path, () => cases.map((one) => caseLanguage(evaluator, one)).reduce(union, NO_STRING));
}

function caseLanguage(evaluator: Emitter['evaluator'], parts: Case): Automaton {
  if (parts.some(({ schema }) => !schemaTypes(schema).types.includes('string'))) return NO_STRING;
  const values = parts.map(({ schema }) => listedValues(schema)).find((listed) => listed !== null);
  if (values !== undefined && values !== null) {
    const texts = values.filter((value) => typeof value === 'string');
    const fitting = texts.filter((text) => parts.every(({ schema }) => evaluator.ownAccepts(schema, text)));
    return fitting.length === 0 ? NO_STRING : buildAutomaton({ kind: 'choice', parts: fitting.map(literalPattern) });
  }
  const limits = textLimits(parts);
  return limits.kind === 'automaton' ? limits.automaton : lengthRange(limits.counts.least, limits.counts.most);
}
