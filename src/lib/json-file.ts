import { open, rename } from 'node:fs/promises';
import type { Static, TSchema } from 'typebox';
import { Value } from 'typebox/value';
import { readOptionalFile } from './read-optional-file.ts';

/** The value in a file of JSON; null when there is none, or none of that form. */
export async function readJsonFile<T extends TSchema>(path: string, form: T): Promise<Static<T> | null> {
  const text = await readOptionalFile(path);
  if (text === null) return null;
  try {
    const value: unknown = JSON.parse(text);
    return Value.Check(form, value) ? value : null;
  } catch {
    return null;
  }
}

/** Writes a value as JSON, so that the file has the old one or the new one, after a power cut too. */
export async function writeJsonFile(path: string, value: object): Promise<void> {
  const temporary = `${path}.${process.pid}.new`;
  const file = await open(temporary, 'w', 0o600);
  try {
    await file.writeFile(`${JSON.stringify(value, null, 2)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
}
