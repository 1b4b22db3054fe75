import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { OperatorError } from '../../lib/operator-error.ts';
import { cardPath, findModelFile, partialBytes, partialPath } from './model-files.ts';
import { isModelName } from './model-source.ts';
import { removePartial } from './partial-file.ts';
import { lockPull } from './pull-lock.ts';

/**
 * Deletes a model and its partial download. Throws an `OperatorError` when neither exists, or during a download.
 * Returns the freed bytes.
 */
export async function removeModelFile(dataDir: string, name: string): Promise<number> {
  const model = await findModelFile(dataDir, name);
  const partial = partialPath(dataDir, name);
  if (!isModelName(name) || (model === null && !existsSync(partial))) {
    throw new OperatorError(`There is no model '${name}' on the disk. 'quire models list' shows those there are.`);
  }
  const lock = await lockPull(`${partial}.lock`, name);
  try {
    const bytes = (model?.bytes ?? 0) + (await partialBytes(dataDir, name));
    await removePartial(partial);
    if (model !== null) await rm(model.path);
    await rm(cardPath(dataDir, name), { force: true });
    return bytes;
  } finally {
    await lock.release();
  }
}
