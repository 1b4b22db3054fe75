import { open, rename } from 'node:fs/promises';
import type { Static, TSchema } from 'typebox';
import { Value } from 'typebox/value';
import { readOptionalFile } from './read-optional-file.ts';

/** Reads a JSON file; null if it is missing or does not match the schema. */
export async function readJsonFile<T extends TSchema>(path: string, schema: T): Promise<Static<T> | null> {
  const text = await readOptionalFile(path);
  return text === null ? null : parseJsonAs(text, schema);
}

/** Parses JSON; null if the text is not JSON or does not match the schema. */
export function parseJsonAs<T extends TSchema>(text: string, schema: T): Static<T> | null {
  try {
    const value: unknown = JSON.parse(text);
    return Value.Check(schema, value) ? value : null;
  } catch {
    return null;
  }
}

let writes = 0;

/**
 * Writes a JSON file atomically and durably: after a crash it holds the old or the new value. Of concurrent writes, one
 * value is kept.
 */
export async function writeJsonFile(path: string, value: object): Promise<void> {
  const temporary = `${path}.${process.pid}-${writes++}.new`;
  const file = await open(temporary, 'w', 0o600);
  try {
    await file.writeFile(`${JSON.stringify(value, null, 2)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
}
