import type { components } from './schema.d.ts';

/** As openapi-fetch types responses: without properties that are always null. */
type Returned<T> = T extends (infer Item)[]
  ? Returned<Item>[]
  : T extends object
    ? { [Name in keyof T as NonNullable<T[Name]> extends never ? never : Name]: Returned<T[Name]> }
    : T;

/** A schema of the API description, by its name, as responses have it. */
export type Schema<Name extends keyof components['schemas']> = Returned<components['schemas'][Name]>;
