import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Static, Type } from 'typebox';
import type { Config } from '../config.ts';
import { readJsonFile, writeJsonFile } from '../lib/json-file.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { modelPath } from './downloads/model-files.ts';

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

/** The bindings of a data folder. Throws a `OperatorError` when their file is damaged: nobody knows then what was chosen. */
export async function readBindings(dataDir: string): Promise<StoredBindings> {
  const bindings = await readJsonFile(path(dataDir), Bindings);
  if (bindings !== null) return bindings;
  if (!existsSync(path(dataDir))) return NONE;
  throw new OperatorError(
    `${path(dataDir)} is damaged, so nobody knows what 'quire models use' has bound. Correct it, or delete it and bind again.`,
  );
}

/** Replaces the bindings of a data folder. Whoever calls it holds the folder. */
export function writeBindings(dataDir: string, bindings: StoredBindings): Promise<void> {
  return writeJsonFile(path(dataDir), bindings);
}

/** Where the operator has decided for an id outside of the commands. */
export type DecidedBy = 'configuration' | 'environment';

/**
 * Who has decided what answers for an id, and wins over the commands; null where it is left to them. `isText`: the one
 * upstream of the environment is for text.
 */
export function decidedBy(
  config: Pick<Config, 'models' | 'upstreamUrl'>,
  { id, isText }: { id: string; isText: boolean },
): DecidedBy | null {
  const { alias, engine, file, base_urls } = config.models[id] ?? {};
  if (alias ?? engine ?? file ?? base_urls) return 'configuration';
  return isText && config.upstreamUrl !== null ? 'environment' : null;
}

/** How an id is answered: as the operator has set it, and where that says nothing, by the model that a command chose. */
export function bindingOf(
  config: Pick<Config, 'models' | 'upstreamUrl' | 'dataDir'>,
  stored: StoredBinding | undefined,
  id: { id: string; isText: boolean },
): Config['models'][string] | undefined {
  const set = config.models[id.id];
  if (stored === undefined || decidedBy(config, id) !== null) return set;
  return { ...set, file: modelPath(config.dataDir, stored.model) };
}
