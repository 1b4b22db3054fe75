/**
 * Property paths of the schemas of an OpenAPI description, as facts that can be compared and stored without the
 * description.
 */

/** The parts of a JSON schema that are compared. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  nullable?: boolean;
  enum?: unknown[];
  const?: unknown;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  allOf?: Schema[];
  anyOf?: Schema[];
  oneOf?: Schema[];
}

/** Component schemas by name, to resolve references. */
export type Components = Readonly<Record<string, Schema>>;

/**
 * A property: JSON types without null, the accepted texts unless every text is accepted, and whether it is required.
 */
export interface Property {
  types: string[];
  values: string[] | null;
  required: boolean;
  nullable: boolean;
}

/** Properties by path, such as `messages[].content[].type`. The root has the path ''. */
export type Properties = Map<string, Property>;

/** Properties that name the variant of a union. */
const DISCRIMINATORS = ['type', 'role'];
/** Bounds recursive schemas. */
const MAX_DEPTH = 12;

/**
 * Lists every property of a schema, through references and compositions. The variants of a union are merged: their
 * discriminator has the values of all variants. With `guide`, the properties of another schema, two things are left
 * out: properties below a path that the guide lacks, and those of variants that it lacks. One difference then stands
 * for everything below it.
 */
export function listProperties(schema: Schema, components: Components, guide: Properties | null = null): Properties {
  const properties: Properties = new Map();
  visit([schema], '', true, 0);
  return properties;

  function visit(schemas: Schema[], path: string, required: boolean, depth: number): void {
    const parts = schemas.flatMap((each) => alternatives(each, components));
    properties.set(path, { ...summarize(parts), required });
    const known = guide?.get(path);
    if (depth === MAX_DEPTH || (guide !== null && (known === undefined || known.types.includes('any')))) return;
    const items = parts.flatMap((part) => part.items ?? []);
    if (items.length > 0) visit(items, `${path}[]`, true, depth + 1);
    const objects = parts.filter((part) => part.properties !== undefined);
    const compared = objects.filter((part) => isKnownVariant(part, path));
    const names = new Set(objects.flatMap((part) => Object.keys(part.properties ?? {})));
    for (const name of names) {
      const holders = DISCRIMINATORS.includes(name) ? objects : compared;
      const found = holders.flatMap((part) => part.properties?.[name] ?? []);
      if (found.length === 0) continue;
      const isRequired = holders.every((part) => part.required?.includes(name));
      visit(found, path === '' ? name : `${path}.${name}`, isRequired, depth + 1);
    }
  }

  function isKnownVariant(part: Schema, path: string): boolean {
    return DISCRIMINATORS.every((name) => {
      const known = guide?.get(path === '' ? name : `${path}.${name}`)?.values;
      const own = part.properties?.[name];
      const values = own === undefined ? null : summarize(alternatives(own, components)).values;
      return !known || !values || values.some((value) => known.includes(value));
    });
  }
}

/** The alternatives of a schema without references and compositions. */
function alternatives(schema: Schema, components: Components): Schema[] {
  const { $ref: reference, allOf = [], anyOf = [], oneOf = [], ...own } = schema;
  const target = reference === undefined ? [] : [components[reference.split('/').at(-1) ?? ''] ?? {}];
  const unions = [...anyOf, ...oneOf];
  const all = [...target, ...allOf].map((part) => alternatives(part, components));
  if (unions.length > 0) all.push(unions.flatMap((part) => alternatives(part, components)));
  return all.reduce<Schema[]>(
    (merged, next) => merged.flatMap((left) => next.map((right) => merge(left, right))),
    [own],
  );
}

function merge(left: Schema, right: Schema): Schema {
  const hasProperties = left.properties !== undefined || right.properties !== undefined;
  return {
    ...left,
    ...right,
    required: [...(left.required ?? []), ...(right.required ?? [])],
    ...(hasProperties && { properties: { ...left.properties, ...right.properties } }),
  };
}

function summarize(parts: readonly Schema[]): Omit<Property, 'required'> {
  const types = new Set(parts.flatMap(typesOfPart));
  const texts = parts.filter((part) => typesOfPart(part).includes('string'));
  const lists = texts.map((part) => part.enum ?? (part.const === undefined ? null : [part.const]));
  const isOpen = lists.length === 0 || lists.includes(null);
  const values = lists.flatMap((list) => (list ?? []).filter((value) => typeof value === 'string'));
  const nullable = types.delete('null') || parts.some((part) => part.nullable === true);
  return { types: [...types].sort(), values: isOpen ? null : [...new Set(values)].sort(), nullable };
}

/** JSON types of a schema without compositions; `any` when it accepts everything. Integers are numbers. */
function typesOfPart(part: Schema): string[] {
  const named = part.type === undefined ? [] : [part.type].flat();
  if (named.length > 0) return named.map((type) => (type === 'integer' ? 'number' : type));
  if (part.properties !== undefined) return ['object'];
  if (part.items !== undefined) return ['array'];
  const constants = part.enum ?? (part.const === undefined ? [] : [part.const]);
  if (constants.length === 0) return ['any'];
  return constants.map((value) => (value === null ? 'null' : typeof value));
}

const ENCODED = /^(required )?([a-z|]*)(?:: (.*))?$/;

/** Encodes properties as JSON with one text for each, such as `required string|null: auto, none`. */
export function encodeProperties(properties: Properties): Record<string, string> {
  const encode = ({ types, values, required, nullable }: Property): string =>
    [
      required ? 'required ' : '',
      [...types, ...(nullable ? ['null'] : [])].join('|'),
      values === null ? '' : `: ${values.join(', ')}`,
    ].join('');
  return Object.fromEntries([...properties].map(([path, property]) => [path, encode(property)]));
}

/** Reads what `encodeProperties` wrote. */
export function decodeProperties(encoded: Readonly<Record<string, string>>): Properties {
  return new Map(Object.entries(encoded).map(([path, text]) => [path, decode(text)]));
}

function decode(text: string): Property {
  const [, required, names = '', values] = ENCODED.exec(text) ?? [];
  const types = names.split('|').filter((name) => name !== '');
  return {
    types: types.filter((type) => type !== 'null'),
    values: values?.split(', ') ?? null,
    required: required !== undefined,
    nullable: types.includes('null'),
  };
}
