import { isEmpty } from './automaton.ts';
import { automatonRule } from './automaton-grammar.ts';
import { numberLimits, withErrorPath } from './bounds.ts';
import type { Case } from './cases.ts';
import type { Emitter, Leaf } from './emitter.ts';
import { EXCLUDED, type Internal, notEnforced } from './keywords.ts';
import { numberLanguage } from './number-language.ts';

/** Compiles a rule for numbers; null when there are none. Bounds and steps exclude exponents. */
export function numberRule({ builder }: Emitter, parts: Case): Leaf | null {
  const path = parts[0]?.path ?? '';
  const limits = numberLimits(parts);
  const excluded = parts.find(({ schema }) => typeof (schema as Internal)[EXCLUDED] === 'number');
  if (excluded !== undefined) throw notEnforced(excluded.path);
  if (limits.minimum === null && limits.maximum === null && limits.steps.length === 0) {
    return { rule: builder.json(limits.whole ? 'integer' : 'number'), needs: [] };
  }
  const language = withErrorPath(path, () => numberLanguage(limits));
  if (language === null) {
    throw notEnforced(`${parts.find(({ schema }) => schema['multipleOf'] !== undefined)?.path ?? path}.multipleOf`);
  }
  const { negative, positive } = language;
  const ways: string[] = [];
  if (!isEmpty(negative)) ways.push(`"-" ${automatonRule(builder, negative, { spelling: 'plain', path })}`);
  if (!isEmpty(positive)) ways.push(automatonRule(builder, positive, { spelling: 'plain', path }));
  return ways.length === 0 ? null : { rule: builder.intern('number', ways.join(' | '), path), needs: [] };
}
