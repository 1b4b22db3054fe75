/**
 * Schema option of a request body: null in an optional field means that the field is absent, at every depth. Clients
 * such as LangChain and LiteLLM send null for every field that is not set. Fields whose schema has a meaning for null
 * keep it.
 */
export const NULL_IS_ABSENT = 'x-null-is-absent';

/** The parts of a JSON schema that decide about nulls. */
interface Schema {
  type?: string | string[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  anyOf?: Schema[];
  [keyword: string]: unknown;
}

type Remove = (value: unknown) => void;

/** Compiles a function that deletes nulls of optional fields in place, whether or not the value matches the schema. */
export function nullRemover(schema: object): Remove {
  return compile(schema as Schema) ?? (() => undefined);
}

/** Null: there is nothing to delete below this schema. Values of records are user data and are kept. */
function compile(schema: Schema): Remove | null {
  const removers = [forProperties(schema), forItems(schema), ...(schema.anyOf ?? []).map(compile)];
  const active = removers.filter((remove) => remove !== null);
  if (active.length < 2) return active[0] ?? null;
  return (value) => {
    for (const remove of active) remove(value);
  };
}

function forProperties({ properties = {}, required = [] }: Schema): Remove | null {
  const optional = Object.keys(properties).filter((name) => isOptional(name, properties, required));
  const nested = Object.entries(properties)
    .map(([name, schema]) => ({ name, remove: compile(schema) }))
    .filter((field): field is { name: string; remove: Remove } => field.remove !== null);
  if (optional.length === 0 && nested.length === 0) return null;
  return (value) => {
    if (typeof value !== 'object' || value === null) return;
    const fields = value as Record<string, unknown>;
    for (const name of optional) if (fields[name] === null) delete fields[name];
    for (const { name, remove } of nested) remove(fields[name]);
  };
}

function forItems({ items }: Schema): Remove | null {
  const remove = items === undefined ? null : compile(items);
  if (remove === null) return null;
  return (value) => {
    if (Array.isArray(value)) for (const item of value) remove(item);
  };
}

const isOptional = (name: string, properties: Record<string, Schema>, required: readonly string[]): boolean =>
  !required.includes(name) && !acceptsNull(properties[name] ?? {});

function acceptsNull({ type, anyOf = [] }: Schema): boolean {
  return type === 'null' || (Array.isArray(type) && type.includes('null')) || anyOf.some(acceptsNull);
}

/** The schema for the API description: with null among the types of every optional field. */
export function describeNulls(schema: object): Schema {
  const { [NULL_IS_ABSENT]: _, ...described } = schema as Schema;
  const { properties, required = [], items, anyOf } = described;
  return {
    ...described,
    ...(properties !== undefined && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, field]) => {
          const inner = describeNulls(field);
          return [name, isOptional(name, properties, required) ? withNull(inner) : inner];
        }),
      ),
    }),
    ...(items !== undefined && { items: describeNulls(items) }),
    ...(anyOf !== undefined && { anyOf: anyOf.map(describeNulls) }),
  };
}

function withNull(schema: Schema): Schema {
  const { type, anyOf } = schema;
  // A named schema stays whole, because its name refers to one schema.
  if ('title' in schema) return { anyOf: [schema, { type: 'null' }] };
  if (anyOf !== undefined) return { ...schema, anyOf: [...anyOf, { type: 'null' }] };
  // JSON Schema compares a constant and an enum apart from the type.
  if (typeof type === 'string' && !('const' in schema)) return { ...schema, type: [type, 'null'] };
  return { anyOf: [schema, { type: 'null' }] };
}
