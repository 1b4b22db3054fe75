import { existsSync } from 'node:fs';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Static, Type } from 'typebox';
import { readJsonFile, writeJsonFile } from '../../lib/json-file.ts';
import { OperatorError } from '../../lib/operator-error.ts';
import { isModelName } from './model-source.ts';
import { removePartial } from './partial-file.ts';
import { lockPull } from './pull-lock.ts';

const GGUF = '.gguf';
const PART = '.part';

const ModelCard = Type.Object({
  from: Type.String(),
  bytes: Type.Integer(),
  sha256: Type.String(),
  sha256_from: Type.Union([Type.Literal('operator'), Type.Literal('hub'), Type.Literal('nobody')]),
  architecture: Type.String(),
  use: Type.Union([Type.Literal('generation'), Type.Literal('embedding'), Type.Literal('rerank')]),
  parameters: Type.Number(),
  context_tokens: Type.Union([Type.Number(), Type.Null()]),
  pulled_at: Type.Integer(),
});

/** Facts about a model from the time of its pull; `pulled_at` in Unix seconds. */
export type ModelCard = Static<typeof ModelCard>;

/** A model on the disk. */
export interface ModelFile {
  name: string;
  path: string;
  bytes: number;
  /** Null for a file that was copied there by hand. */
  card: ModelCard | null;
}

/** The folder of model files within the data folder. Every GGUF in it can be bound. */
export function modelsFolder(dataDir: string): string {
  return join(dataDir, 'models');
}

/** The path of the model file of this name. */
export function modelPath(dataDir: string, name: string): string {
  return join(modelsFolder(dataDir), `${name}${GGUF}`);
}

/** The path of a model file during its download. */
export function partialPath(dataDir: string, name: string): string {
  return `${modelPath(dataDir, name)}${PART}`;
}

function cardPath(dataDir: string, name: string): string {
  return join(modelsFolder(dataDir), `${name}.json`);
}

/** Writes the card of a model. */
export function writeCard(dataDir: string, name: string, card: ModelCard): Promise<void> {
  return writeJsonFile(cardPath(dataDir, name), card);
}

/** The model of that name; null when it is not on the disk. */
export async function findModelFile(dataDir: string, name: string): Promise<ModelFile | null> {
  const path = modelPath(dataDir, name);
  const found = isModelName(name) ? await stat(path).catch(() => null) : null;
  if (found === null || !found.isFile()) return null;
  return { name, path, bytes: found.size, card: await readJsonFile(cardPath(dataDir, name), ModelCard) };
}

/** The models on the disk, sorted by name, and partial downloads. */
export async function listModelFiles(
  dataDir: string,
): Promise<{ models: ModelFile[]; unfinished: { name: string; bytes: number }[] }> {
  const files = await readdir(modelsFolder(dataDir)).catch(() => []);
  const names = (ending: string) =>
    files.flatMap((file) => (file.endsWith(ending) ? file.slice(0, -ending.length) : [])).toSorted();
  const models: ModelFile[] = [];
  for (const name of names(GGUF)) {
    const model = await findModelFile(dataDir, name);
    if (model !== null) models.push(model);
  }
  const unfinished: { name: string; bytes: number }[] = [];
  for (const name of names(GGUF + PART)) unfinished.push({ name, bytes: await partialBytes(dataDir, name) });
  return { models, unfinished };
}

/**
 * Deletes a model and its partial download. Throws an `OperatorError` when neither exists, or during a download. Returns
 * the freed bytes.
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

/** Size of a partial download; 0 when there is none. */
async function partialBytes(dataDir: string, name: string): Promise<number> {
  return (await stat(partialPath(dataDir, name)).catch(() => null))?.size ?? 0;
}
