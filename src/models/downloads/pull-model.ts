import { mkdir, rename } from 'node:fs/promises';
import type { Config } from '../../config/config.ts';
import { prepareDataFolder } from '../../data-folder/prepare.ts';
import { readGgufFacts } from '../../engines/llama/gguf/gguf-facts.ts';
import { describeError, OperatorError } from '../../lib/operator-error.ts';
import { syncFolder } from '../../lib/sync-folder.ts';
import { freeBytes } from '../../lib/writable-folder.ts';
import { type DownloadOptions, type DownloadResult, download } from './download.ts';
import { Dispatchers, type HubToken } from './fetch-file.ts';
import { type ModelCard, writeCard } from './model-card.ts';
import { cardPath, findModelFile, type ModelFile, modelPath, modelsFolder, partialPath } from './model-files.ts';
import type { ModelSource } from './model-source.ts';
import { PartialFile, removePartial } from './partial-file.ts';
import { lockPull } from './pull-lock.ts';

/** Dependencies of a pull. */
export type PullDeps = { config: Pick<Config, 'dataDir' | 'hubUrl' | 'hubToken' | 'proxy'> };

/** Options of a pull. */
export type PullOptions = Pick<DownloadOptions, 'sha256' | 'onProgress' | 'onRetry' | 'backoffMs' | 'stall'> & {
  /** Free bytes of the disk of a folder; for tests. */
  freeBytes?: (folder: string) => Promise<number>;
};

/** The outcome of a pull. */
export interface PulledModel extends ModelFile {
  /** False when the model was on the disk already. */
  isNew: boolean;
}

/**
 * Downloads a model into the data folder. The file gets its name once it is complete, has the expected SHA-256, and is
 * a GGUF that this version can load. Idempotent: an existing model is not downloaded again, a partial one is resumed.
 * Throws an `OperatorError` with the next step.
 */
export async function pullModel(
  { config }: PullDeps,
  source: ModelSource,
  options: PullOptions,
  signal: AbortSignal,
): Promise<PulledModel> {
  const { dataDir } = config;
  prepareDataFolder(dataDir);
  await mkdir(modelsFolder(dataDir), { recursive: true });
  const existing = await findModelFile(dataDir, source.name);
  if (existing !== null) return { ...requireSameSource(existing, source, options.sha256), isNew: false };
  const path = partialPath(dataDir, source.name);
  const lock = await lockPull(`${path}.lock`, source.name);
  const dispatchers = new Dispatchers(config.proxy);
  try {
    const partial = await PartialFile.open(path, source.from, signal);
    const token = createHubToken(config);
    const { freeBytes: bytesFree = freeBytes, ...rest } = options;
    try {
      const downloadOptions = { ...rest, token, dispatchers, freeBytes: () => bytesFree(modelsFolder(dataDir)) };
      const done = await download(source, partial, downloadOptions, signal);
      return await store(dataDir, source, partial, done);
    } finally {
      await partial.close();
      if (partial.size === 0) await removePartial(path);
    }
  } finally {
    await dispatchers.close();
    await lock.release();
  }
}

function requireSameSource(existing: ModelFile, source: ModelSource, sha256: string | null): ModelFile {
  const isSame = existing.card?.from === source.from && (sha256 === null || existing.card.sha256 === sha256);
  if (isSame) return existing;
  const from = existing.card === null ? 'put there by hand' : `from ${existing.card.from}`;
  throw new OperatorError(
    `There is another model '${existing.name}' already, ${from}. Choose a name with --name, or 'quire models remove' that one.`,
  );
}

function createHubToken({ hubToken, hubUrl }: PullDeps['config']): HubToken | null {
  return hubToken === null ? null : { value: hubToken, origin: new URL(hubUrl).origin };
}

/** Checks the GGUF, writes its card and renames it to its final name. */
async function store(
  dataDir: string,
  source: ModelSource,
  partial: PartialFile,
  done: DownloadResult,
): Promise<PulledModel> {
  const card = await createCard(source, partial, done);
  const path = modelPath(dataDir, source.name);
  await partial.sync();
  await writeCard(cardPath(dataDir, source.name), card);
  await rename(partial.path, path);
  await syncFolder(modelsFolder(dataDir));
  await partial.deleteMetadata();
  return { name: source.name, path, bytes: done.bytes, card, isNew: true };
}

async function createCard(source: ModelSource, partial: PartialFile, done: DownloadResult): Promise<ModelCard> {
  try {
    const { architecture, use, parameters, contextTokens } = await readGgufFacts(partial.path);
    return {
      from: source.from,
      bytes: done.bytes,
      sha256: done.sha256,
      sha256_from: done.sha256From,
      architecture,
      use,
      parameters,
      context_tokens: contextTokens,
      pulled_at: Math.floor(Date.now() / 1000),
    };
  } catch (error) {
    await partial.clear();
    throw new OperatorError(
      `The file from ${source.from} cannot be used: ${describeError(error)}. It was deleted; choose another file.`,
    );
  }
}

/** fsync of the folder makes the rename durable. */
