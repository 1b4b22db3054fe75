import { queryOptions } from '@tanstack/react-query';
import { readApiDescription } from '../api/api-description.ts';

/** The part of JSON Schema that configs of data sources use. */
export interface FieldSchema {
  type?: string;
  enum?: string[];
  anyOf?: FieldSchema[];
  properties?: Record<string, FieldSchema>;
  required?: string[];
  items?: FieldSchema;
  description?: string;
  default?: unknown;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  writeOnly?: boolean;
}

/** The config of a data source, as the API takes it. */
export type Config = Record<string, unknown>;

/** Placeholder of the API for a stored secret. */
const REDACTED = '***';

/** The schema of the config of each type of data source, from the API description that the service serves. */
export const sourceSchemas = queryOptions({
  queryKey: ['data-source-schemas'],
  queryFn: async (): Promise<ReadonlyMap<string, FieldSchema>> => {
    const { components } = await readApiDescription<FieldSchema>();
    const types = components.schemas['DescribedDataSource']?.anyOf ?? [];
    return new Map(
      types.flatMap(({ properties }) => {
        const [type] = properties?.['type']?.enum ?? [];
        const config = properties?.['config'];
        return type === undefined || config === undefined ? [] : [[type, config] as const];
      }),
    );
  },
  staleTime: Number.POSITIVE_INFINITY,
});

/** The label of a field: `max_depth` becomes `Max depth`. */
export function fieldLabel(name: string): string {
  const words = name.replaceAll('_', ' ').replace(/\b(url|id|api|json)(s?)\b/g, (_, word, s) => word.toUpperCase() + s);
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Whether a field is an object of any keys, which is edited as JSON. */
export const isFreeObject = ({ type, properties }: FieldSchema): boolean =>
  type === 'object' && properties === undefined;

/** What the form shows of a stored config: secrets are empty, free objects are JSON. */
export function toFormValues(schema: FieldSchema, config: Config): Config {
  return Object.fromEntries(
    Object.entries(schema.properties ?? {}).map(([name, field]) => {
      const value = config[name];
      if (field.writeOnly) return [name, ''];
      if (isFreeObject(field)) return [name, value === undefined ? '' : JSON.stringify(value, null, 2)];
      if (field.properties !== undefined) return [name, toFormValues(field, (value ?? {}) as Config)];
      return [name, value ?? field.default];
    }),
  );
}

/**
 * The config of a request. Empty fields are left out of a new data source and removed (null) from a stored one, whose
 * secrets stay. Throws `SyntaxError` for invalid JSON.
 */
export function toConfig(schema: FieldSchema, values: Config, isStored: boolean): Config {
  const config: Config = {};
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    const value = values[name];
    const isEmpty = value === undefined || value === '' || (Array.isArray(value) && value.length === 0);
    if (field.properties !== undefined) config[name] = toConfig(field, (value ?? {}) as Config, isStored);
    else if (isEmpty && field.writeOnly && isStored) config[name] = REDACTED;
    else if (isEmpty && isStored) config[name] = null;
    else if (!isEmpty) config[name] = isFreeObject(field) ? JSON.parse(String(value)) : value;
  }
  return config;
}
