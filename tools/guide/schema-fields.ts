import MarkdownIt from 'markdown-it';

/** An object of the API description. */
export type Json = Record<string, unknown>;

const markdown = new MarkdownIt({ html: false });
const { escapeHtml } = markdown.utils;
/** Levels of nested fields that a page shows; deeper ones are named by their type. */
const MAX_DEPTH = 4;

/** Follows `$ref`. */
export function resolveReference(api: Json, value: Json): Json {
  const reference = value['$ref'];
  if (typeof reference !== 'string') return value;
  const target = reference
    .slice(2)
    .split('/')
    .reduce<unknown>((node, key) => (node as Json | undefined)?.[key], api);
  if (target === undefined) throw new Error(`The API description lacks ${reference}`);
  return resolveReference(api, target as Json);
}

/** Describes the type of a schema in words: `array of string`, `"asc" or "desc"`. */
export function describeType(api: Json, reference: Json): string {
  const schema = resolveReference(api, reference);
  const { type, items, const: constant } = schema;
  const alternatives = alternativesOf(schema);
  if (constant !== undefined) return JSON.stringify(constant);
  if (Array.isArray(schema['enum'])) return joinTypes(schema['enum'].map((value) => JSON.stringify(value)));
  if (alternatives.length > 0) return joinTypes(alternatives.map((each) => describeType(api, each)));
  const types = (Array.isArray(type) ? type : [type ?? 'any']) as string[];
  return joinTypes(
    types.map((each) =>
      each === 'array' && items !== undefined ? `array of ${describeType(api, items as Json)}` : each,
    ),
  );
}

const joinTypes = (types: readonly string[]): string => [...new Set(types)].join(' or ');

const alternativesOf = (schema: Json): Json[] => (schema['anyOf'] ?? schema['oneOf'] ?? []) as Json[];

/** Renders the fields of an object, nested ones in disclosures. Other types are one line. */
export function renderFields(api: Json, reference: Json, depth = 0): string {
  const schema = resolveReference(api, reference);
  const objects = objectsIn(api, schema);
  if (objects.length === 0) return `<p>${escapeHtml(describeType(api, schema))}</p>`;
  return objects.map((object) => renderObject(api, object, depth)).join('\n');
}

/** The object schemas of a value: itself, the items of an array, the alternatives. */
function objectsIn(api: Json, reference: Json): Json[] {
  const schema = resolveReference(api, reference);
  if (schema['properties'] !== undefined) return [schema];
  const nested = [...alternativesOf(schema), ...(schema['items'] === undefined ? [] : [schema['items'] as Json])];
  const merged = (schema['allOf'] ?? []) as Json[];
  return [...nested, ...merged].flatMap((each) => objectsIn(api, each));
}

function renderObject(api: Json, schema: Json, depth: number): string {
  const required = new Set((schema['required'] ?? []) as string[]);
  const rows = Object.entries(schema['properties'] as Record<string, Json>).map(([name, reference]) => {
    const field = resolveReference(api, reference);
    const nested = depth < MAX_DEPTH ? objectsIn(api, field) : [];
    const facts = [describeType(api, field), ...(required.has(name) ? ['required'] : []), ...describeBounds(field)];
    const text = markdown.renderInline(String(reference['description'] ?? field['description'] ?? ''));
    const inner = nested.map((object) => renderObject(api, object, depth + 1)).join('\n');
    const details =
      inner === '' ? '' : `<details><summary>Fields of <code>${escapeHtml(name)}</code></summary>${inner}</details>`;
    return `<dt><code>${escapeHtml(name)}</code> <small>${escapeHtml(facts.join(' · '))}</small></dt><dd>${text}${details}</dd>`;
  });
  return `<dl class="fields">${rows.join('')}</dl>`;
}

function describeBounds(schema: Json): string[] {
  const { default: preset, format, uniqueItems, minimum, maximum, minLength, maxLength, minItems, maxItems } = schema;
  const range = (unit: string, low: unknown, high: unknown) => {
    if (low === undefined && high === undefined) return [];
    if (high === undefined) return [`from ${low}${unit}`];
    return [low === undefined ? `up to ${high}${unit}` : `${low} to ${high}${unit}`];
  };
  return [
    ...(typeof format === 'string' ? [format] : []),
    ...range('', minimum, maximum),
    ...range(' characters', minLength, maxLength),
    ...range(' items', minItems, maxItems),
    ...(uniqueItems === true ? ['no duplicates'] : []),
    ...(preset === undefined ? [] : [`default ${JSON.stringify(preset)}`]),
  ];
}
