import { existsSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { Type } from 'typebox';
import type { Database } from '../../db/db.ts';
import { readJsonFile } from '../../lib/json-file.ts';
import { OperatorError } from '../../lib/operator-error.ts';
import { insertMissingBindings } from './store.ts';

/** Held the bindings until version 0.2; they are rows of the database now. */
const BINDINGS_FILE = 'model-bindings.json';

const BindingsFile = Type.Object({
  version: Type.Literal(1),
  ids: Type.Record(
    Type.String(),
    Type.Object({ model: Type.String(), by: Type.Union([Type.Literal('operator'), Type.Literal('first-start')]) }),
  ),
  first_pull_done: Type.Boolean(),
});

/**
 * Imports the bindings file of an earlier version into the database, then renames the file to
 * `model-bindings.json.imported`. A binding that the database already has wins. May run twice: a process that is killed
 * before the rename imports the same rows again. Throws an `OperatorError` when the file is damaged.
 */
export async function importBindingsFile(dataDir: string, db: Pick<Database, 'sql'>): Promise<void> {
  const path = join(dataDir, BINDINGS_FILE);
  if (!existsSync(path)) return;
  const file = await readJsonFile(path, BindingsFile);
  if (file === null) {
    throw new OperatorError(
      `${path} is damaged, so the bindings of 'quire models use' cannot be imported. Correct it, or delete it and bind again.`,
    );
  }
  await db.sql.transaction((sql) => insertMissingBindings(sql, file.ids, file.first_pull_done));
  await rename(path, `${path}.imported`);
}
