import { join } from 'node:path';
import { type Static, Type } from 'typebox';
import { readKept, writeKept } from './kept-json.ts';

const Binding = Type.Object({
  model: Type.String(),
  by: Type.Union([Type.Literal('operator'), Type.Literal('first-start')]),
});

const Bindings = Type.Object({
  version: Type.Literal(1),
  ids: Type.Record(Type.String(), Binding),
  first_pull_done: Type.Boolean(),
});

/** Which model of the store stands behind an id, and who chose it. */
export type StoredBinding = Static<typeof Binding>;

/** The bindings that were made by commands. They hold where neither the environment nor the configuration file does. */
export type StoredBindings = Static<typeof Bindings>;

const NONE: StoredBindings = { version: 1, ids: {}, first_pull_done: false };

function path(dataDir: string): string {
  return join(dataDir, 'model-bindings.json');
}

/** The bindings of a data folder; none where there is no file, or a damaged one. */
export async function readBindings(dataDir: string): Promise<StoredBindings> {
  return (await readKept(path(dataDir), Bindings)) ?? NONE;
}

/** Replaces the bindings of a data folder. Whoever calls it holds the folder. */
export function writeBindings(dataDir: string, bindings: StoredBindings): Promise<void> {
  return writeKept(path(dataDir), bindings);
}
