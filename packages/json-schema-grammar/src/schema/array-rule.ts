import { countLimits } from './bounds.ts';
import type { Case } from './cases.ts';
import type { Emitter, Leaf } from './emitter.ts';
import { itemSchema } from './evaluate.ts';
import type { Located } from './keywords.ts';
import { type ItemList, uniqueItemsRule } from './unique-items.ts';

/** Compiles a rule for arrays; null when there are none. */
export function arrayRule(emitter: Emitter, parts: Case): Leaf | null {
  const path = parts[0]?.path ?? '';
  const counts = countLimits(parts, 'minItems', 'maxItems');
  const tuple = Math.max(...parts.map(({ schema }) => tupleLength(schema)), 0);
  const positions = Array.from({ length: Math.min(tuple, counts.most ?? tuple) }, (_, i) => itemSchemas(parts, i));
  const rest = counts.most === null || counts.most > tuple ? itemSchemas(parts, tuple) : null;
  const list: ItemList = { positions, rest, ...counts, path };
  const unique = parts.find(({ schema }) => schema['uniqueItems'] === true);
  if (unique === undefined || (counts.most !== null && counts.most < 2)) return listRule(emitter, list);
  const enforced = uniqueItemsRule(emitter, list, `${unique.path}.uniqueItems`);
  return 'leaf' in enforced ? enforced.leaf : listRule(emitter, enforced.independent);
}

/** A rule for arrays whose items are compiled independently of each other. */
function listRule(emitter: Emitter, { positions, rest: others, least, most: limit, path }: ItemList): Leaf | null {
  const { builder } = emitter;
  const firsts = positions.map((schemas) => emitter.ruleOf(schemas, path));
  const impossible = firsts.indexOf(null);
  const items = firsts.slice(0, impossible < 0 ? firsts.length : impossible).filter((item) => item !== null);
  const rest = impossible < 0 && others !== null ? emitter.ruleOf(others, path) : null;
  const end = rest === null ? items.length : null;
  const most = end === null ? limit : Math.min(end, limit ?? end);
  if (most !== null && least > most) return null;
  const ws = builder.json('ws');
  // From last to first: each position may be the last one once there are enough items.
  let inside = '';
  if (rest !== null) {
    const also = builder.intern('also', `"," ${ws} ${rest}`, path);
    const room = most === null ? null : most - items.length;
    const missing = Math.max(0, least - items.length);
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
    inside = optional(builder.intern('items', sequence, path), i >= least);
  }
  const body = inside === '' ? `"[" ${ws} "]"` : `"[" ${ws} ${inside} ${ws} "]"`;
  const needs = [...items.slice(0, least), ...(rest !== null && least > items.length ? [rest] : [])];
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
