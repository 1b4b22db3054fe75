import { Type } from 'typebox';
import { MUST } from './validation.ts';

interface TextOptions {
  minLength?: number;
  maxLength: number;
  description?: string;
}

/** Schema of a string that PostgreSQL can store: without NUL characters. */
export const StorableText = (options: TextOptions) =>
  Type.String({ ...options, pattern: '^[^\\u0000]*$', [MUST]: 'not contain NUL characters' });

/** Schema of a value that may be null. */
export const Nullable = <T extends Parameters<typeof Type.Array>[0]>(schema: T, description?: string) =>
  Type.Union([schema, Type.Null()], description === undefined ? {} : { description });

/** Schema of a time in Unix seconds. */
export const UnixSeconds = Type.Integer({ description: 'Unix seconds.' });
