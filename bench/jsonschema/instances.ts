/**
 * Instances as texts. JSON objects are unordered, but a grammar fixes an order: members of the schema first, in its
 * order. So an instance is also tried with its members in that order.
 */
type Json = Record<string, unknown>;

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Parses JSON so that `JSON.stringify` preserves the spelling of numbers: `1.0` stays `1.0`. */
export function parseExactly(text: string): unknown {
  const keep = (_name: string, value: unknown, context: { source: string }): unknown =>
    typeof value === 'number' ? rawJson(context.source) : value;
  return JSON.parse(text, keep as (name: string, value: unknown) => unknown);
}

const rawJson = (source: string): unknown => (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(source);
const isRaw = (value: unknown): boolean => (JSON as unknown as { isRawJSON(one: unknown): boolean }).isRawJSON(value);

/** Schemas that apply to the same value as `schema`: itself, its references and its combinations. */
function together(schema: unknown, root: unknown, found: Set<Json> = new Set()): Set<Json> {
  if (!isObject(schema) || found.has(schema)) return found;
  found.add(schema);
  const { $ref } = schema as { $ref?: unknown };
  if (typeof $ref === 'string' && $ref.startsWith('#')) together(resolve(root, $ref), root, found);
  for (const keyword of ['allOf', 'anyOf', 'oneOf']) {
    for (const one of Array.isArray(schema[keyword]) ? (schema[keyword] as unknown[]) : []) together(one, root, found);
  }
  for (const keyword of ['then', 'else']) together(schema[keyword], root, found);
  for (const keyword of ['dependencies', 'dependentSchemas']) {
    for (const one of Object.values(isObject(schema[keyword]) ? schema[keyword] : {})) together(one, root, found);
  }
  return found;
}

function resolve(root: unknown, reference: string): unknown {
  return reference
    .slice(2)
    .split('/')
    .filter((step) => step !== '')
    .reduce<unknown>((at, step) => {
      const name = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');
      return Array.isArray(at) ? at[Number(name)] : isObject(at) ? at[name] : undefined;
    }, root);
}

/** The same value with the members of its objects in the order in which the schemas list them. */
export function ordered(value: unknown, schemas: readonly unknown[], root: unknown): unknown {
  const all = [...new Set(schemas.flatMap((schema) => [...together(schema, root)]))];
  if (Array.isArray(value)) return value.map((item) => ordered(item, all.flatMap(itemSchemas), root));
  if (!isObject(value) || isRaw(value)) return value;
  const names = new Set<string>();
  for (const schema of all) for (const name of Object.keys(schema['properties'] ?? {})) names.add(name);
  for (const schema of all) for (const name of (schema['required'] as string[] | undefined) ?? []) names.add(name);
  const place = [...names];
  const rank = (name: string): number => (place.includes(name) ? place.indexOf(name) : place.length);
  const members = Object.entries(value).sort(([a], [b]) => rank(a) - rank(b));
  return Object.fromEntries(
    members.map(([name, inner]) => [
      name,
      ordered(
        inner,
        all.flatMap((schema) => memberSchemas(schema, name)),
        root,
      ),
    ]),
  );
}

function itemSchemas(schema: Json): unknown[] {
  return [schema['items'], schema['prefixItems'], schema['additionalItems']].flat();
}

function memberSchemas(schema: Json, name: string): unknown[] {
  const patterns = Object.values(isObject(schema['patternProperties']) ? schema['patternProperties'] : {});
  const own = isObject(schema['properties']) ? schema['properties'][name] : undefined;
  return own === undefined ? [...patterns, schema['additionalProperties']] : [own];
}
