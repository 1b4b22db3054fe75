import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { readOptionalFile } from '../../lib/read-optional-file.ts';
import type { ModelCard } from './model-card.ts';
import { isModelName } from './model-source.ts';

const GGUF = '.gguf';
const PART = '.part';

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

/** The path of the card of a model. */
export function cardPath(dataDir: string, name: string): string {
  return join(modelsFolder(dataDir), `${name}.json`);
}

/** The model of that name; null when it is not on the disk. */
export async function findModelFile(dataDir: string, name: string): Promise<ModelFile | null> {
  const path = modelPath(dataDir, name);
  const stats = isModelName(name) ? await stat(path).catch(() => null) : null;
  if (stats === null || !stats.isFile()) return null;
  return { name, path, bytes: stats.size, card: await readCard(dataDir, name) };
}

/** Imports TypeBox only for an existing card: `quire models list` starts in a third of the time without. */
async function readCard(dataDir: string, name: string): Promise<ModelCard | null> {
  const text = await readOptionalFile(cardPath(dataDir, name));
  return text === null ? null : (await import('./model-card.ts')).parseCard(text);
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

/** Size of a partial download; 0 when there is none. */
export async function partialBytes(dataDir: string, name: string): Promise<number> {
  return (await stat(partialPath(dataDir, name)).catch(() => null))?.size ?? 0;
}
