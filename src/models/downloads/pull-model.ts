import { mkdir, rename, statfs } from 'node:fs/promises';
import type { Config } from '../../config.ts';
import { prepareDataFolder } from '../../data-folder/prepare.ts';
import { readGgufFacts } from '../../engines/local/gguf-facts.ts';
import { describeError, OperatorError } from '../../lib/operator-error.ts';
import { syncFolder } from '../../lib/sync-folder.ts';
import { type DownloadOptions, type DownloadResult, download } from './download.ts';
import { Dispatchers, type HubToken } from './fetch-file.ts';
import {
  findModelFile,
  type ModelCard,
  type ModelFile,
  modelPath,
  modelsFolder,
  partialPath,
  writeCard,
} from './model-files.ts';
import type { ModelSource } from './model-source.ts';
import { PartialFile, removePartial } from './partial-file.ts';
import { lockPull } from './pull-lock.ts';

/** What a pull works with. */
export type PullDeps = { config: Pick<Config, 'dataDir' | 'hubUrl' | 'hubToken' | 'proxy'> };

/** How a model is pulled. */
export type PullOptions = Pick<DownloadOptions, 'sha256' | 'onProgress' | 'onRetry' | 'pausesMs' | 'stall'> & {
  /** Bytes that the disk of a folder has left; for tests. */
  freeBytes?: (folder: string) => Promise<number>;
};

/** A model that is in the store now. */
export interface PulledModel extends ModelFile {
  /** False: it was there before. */
  isNew: boolean;
}

/**
 * Fetches a model into the store. It is there under its name only once it is whole, has its SHA-256, and is a GGUF that
 * can be used here; until then, and when it is not, whatever was there before stays. May be called again: a model that
 * is there is not fetched anew, one that came in part is gone on with. Throws a `OperatorError` that says what to do.
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
  const there = await findModelFile(dataDir, source.name);
  if (there !== null) return { ...requireSameSource(there, source, options.sha256), isNew: false };
  const path = partialPath(dataDir, source.name);
  const lock = await lockPull(`${path}.lock`, source.name);
  const dispatchers = new Dispatchers(config.proxy);
  try {
    const partial = await PartialFile.open(path, source.from, signal);
    const token = createHubToken(config);
    const { freeBytes = readFreeBytes, ...rest } = options;
    try {
      const how = { ...rest, token, dispatchers, freeBytes: () => freeBytes(modelsFolder(dataDir)) };
      const done = await download(source, partial, how, signal);
      return await keep(dataDir, source, partial, done);
    } finally {
      await partial.close();
      if (partial.size === 0) await removePartial(path);
    }
  } finally {
    await dispatchers.close();
    await lock.release();
  }
}

function requireSameSource(there: ModelFile, source: ModelSource, sha256: string | null): ModelFile {
  const isSame = there.card?.from === source.from && (sha256 === null || there.card.sha256 === sha256);
  if (isSame) return there;
  const from = there.card === null ? 'put there by hand' : `from ${there.card.from}`;
  throw new OperatorError(
    `There is another model '${there.name}' already, ${from}. Choose a name with --name, or 'quire models remove' that one.`,
  );
}

function createHubToken({ hubToken, hubUrl }: PullDeps['config']): HubToken | null {
  return hubToken === null ? null : { value: hubToken, origin: new URL(hubUrl).origin };
}

async function readFreeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

/** Checks what came, and gives it its name. */
async function keep(
  dataDir: string,
  source: ModelSource,
  partial: PartialFile,
  done: DownloadResult,
): Promise<PulledModel> {
  const card = await describe(source, partial, done);
  const path = modelPath(dataDir, source.name);
  await partial.sync();
  await writeCard(dataDir, source.name, card);
  await rename(partial.path, path);
  await syncFolder(modelsFolder(dataDir));
  await partial.forget();
  return { name: source.name, path, bytes: done.bytes, card, isNew: true };
}

async function describe(source: ModelSource, partial: PartialFile, done: DownloadResult): Promise<ModelCard> {
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
      `What came from ${source.from} cannot be used: ${describeError(error)}. It was deleted; choose another file.`,
    );
  }
}

/** A name is on the disk only when its folder is. */
