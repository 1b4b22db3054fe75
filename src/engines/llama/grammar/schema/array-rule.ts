import { literal } from '../grammar.ts';
import { countLimits } from './bounds.ts';
import type { Case } from './cases.ts';
import type { Emitter, Leaf } from './emitter.ts';
import { canonical, itemSchema } from './evaluate.ts';
import { type Located, listedValues } from './keywords.ts';

/** Maximum distinct values whose subsets are tracked: each subset is a rule. */
const MAX_DISTINCT = 8;
/** Maximum distinct values that are kept in the order of the schema: a rule for each value and count. */
const MAX_ORDERED = 64;

/** Compiles a rule for arrays; null when there are none. */
export function arrayRule(emitter: Emitter, parts: Case): Leaf | null {
  const { builder } = emitter;
  const path = parts[0]?.path ?? '';
  const counts = countLimits(parts, 'minItems', 'maxItems');
  const tuple = Math.max(...parts.map(({ schema }) => tupleLength(schema)), 0);
  const firsts = Array.from({ length: Math.min(tuple, counts.most ?? tuple) }, (_, i) =>
    emitter.ruleOf(itemSchemas(parts, i), path),
  );
  const impossible = firsts.indexOf(null);
  const items = firsts.slice(0, impossible < 0 ? firsts.length : impossible).filter((item) => item !== null);
  const reached = impossible < 0 && (counts.most === null || counts.most > items.length);
  const rest = reached ? emitter.ruleOf(itemSchemas(parts, tuple), path) : null;
  const end = rest === null ? items.length : null;
  const most = end === null ? counts.most : Math.min(end, counts.most ?? end);
  if (most !== null && counts.least > most) return null;
  const ws = builder.json('ws');
  const unique = parts.find(({ schema }) => schema['uniqueItems'] === true);
  if (unique !== undefined && (most === null || most > 1)) {
    const values = tuple > 0 ? null : distinctValues(emitter, itemSchemas(parts, 0));
    // A grammar cannot compare items that are not enumerated: those are not kept from repeating.
    if (values !== null) return distinct(emitter, values, { ...counts, most }, `${unique.path}.uniqueItems`);
  }
  // From last to first: each position may be the last one once there are enough items.
  let inside = '';
  if (rest !== null) {
    const also = builder.intern('also', `"," ${ws} ${rest}`, path);
    const room = most === null ? null : most - items.length;
    const missing = Math.max(0, counts.least - items.length);
    if (items.length > 0) inside = builder.repeat(also, { least: missing, most: room }, path);
    else {
      const more = builder.repeat(
        also,
        { least: Math.max(0, missing - 1), most: room === null ? null : room - 1 },
        path,
      );
      inside = optional(`${rest} ${more}`.trimEnd(), missing === 0);
    }
  }
  for (let i = items.length - 1; i >= 0; i--) {
    const sequence = `${i === 0 ? '' : `"," ${ws} `}${items[i]} ${inside}`.trimEnd();
    inside = optional(builder.intern('items', sequence, path), i >= counts.least);
  }
  const body = inside === '' ? `"[" ${ws} "]"` : `"[" ${ws} ${inside} ${ws} "]"`;
  const needs = [...items.slice(0, counts.least), ...(rest !== null && counts.least > items.length ? [rest] : [])];
  return { rule: builder.intern('array', body, path), needs };
}

const optional = (expression: string, may: boolean): string => (may ? `(${expression})?` : expression);

function tupleLength(schema: Case[number]['schema']): number {
  const tuple = schema['prefixItems'] ?? schema['items'];
  return Array.isArray(tuple) ? tuple.length : 0;
}

function itemSchemas(parts: Case, index: number): Located[] {
  return parts.flatMap(({ schema, path }) => {
    const item = itemSchema(schema, index);
    const tuple = schema['prefixItems'] === undefined ? 'items' : 'prefixItems';
    const at =
      index < tupleLength(schema) ? `${tuple}.${index}` : Array.isArray(schema['items']) ? 'additionalItems' : 'items';
    return item === true ? [] : [{ schema: item, path: `${path}.${at}` }];
  });
}

/**
 * Values of which each may occur once in an array; null when they are not enumerated, or too many.
 */
function distinctValues({ casesOf, evaluator }: Emitter, items: readonly Located[]): unknown[] | null {
  const listed = casesOf(items).map((one) =>
    one.map(({ schema }) => listedValues(schema)).find((list) => list !== null),
  );
  if (listed.some((list) => list === undefined)) return null;
  const values = new Map(listed.flatMap((list) => list ?? []).map((value) => [canonical(value), value]));
  const accepted = [...values.values()].filter((value) =>
    items.every(({ schema }) => evaluator.accepts(schema, value)),
  );
  return accepted.length > MAX_ORDERED ? null : accepted;
}

/**
 * `uniqueItems` with enumerated values: one rule per set of remaining values, so that all orders are possible. More values keep the
 * order of the schema, with one rule per value and count.
 */
function distinct(
  { builder }: Emitter,
  values: readonly unknown[],
  { least, most }: { least: number; most: number | null },
  path: string,
): Leaf | null {
  const limit = Math.min(most ?? values.length, values.length);
  if (least > limit) return null;
  const ws = builder.json('ws');
  const keepsOrder = values.length > MAX_DISTINCT;
  // Counts above this need no rules of their own.
  const counted = Math.max(1, least, limit < values.length ? limit : 0);
  const known = new Map<string, string>();
  const from = (left: readonly unknown[], taken: number): string => {
    const key = `${taken} ${canonical(left)}`;
    const rule = known.get(key);
    if (rule !== undefined) return rule;
    const take = (value: unknown, others: readonly unknown[]): string =>
      `${taken === 0 ? '' : `"," ${ws} `}${literal(JSON.stringify(value))} ${from(others, Math.min(taken + 1, counted))}`;
    const mayTake = limit === values.length || taken < limit;
    const [first, ...later] = left;
    const ways = keepsOrder
      ? left.length === 0
        ? []
        : [...(mayTake ? [take(first, later)] : []), ...(taken + later.length >= least ? [from(later, taken)] : [])]
      : mayTake
        ? left.map((value) =>
            take(
              value,
              left.filter((other) => other !== value),
            ),
          )
        : [];
    if (taken >= least && (left.length === 0 || !keepsOrder)) ways.push('""');
    const made = builder.intern('set', ways.join(' | '), path);
    known.set(key, made);
    return made;
  };
  return { rule: builder.intern('array', `"[" ${ws} ${from(values, 0)} ${ws} "]"`, path), needs: [] };
}
