import { mkdir, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { PGlite, type PGliteOptions } from '@electric-sql/pglite';
import { createFolder } from '../lib/create-folder.ts';
import { tightenPermissions } from '../lib/tighten-permissions.ts';
import { holdsDatabase, requireSpaceForDatabase } from './embedded/cluster-folder.ts';

/** Node has it, and its types do not say so. */
declare const WebAssembly: { compile(bytes: Uint8Array): Promise<PGliteOptions['pgliteWasmModule']> };

/**
 * PostgreSQL's cache of pages. PGlite clears all of it when it begins, so all of it is resident from then on. With PostgreSQL's own 128 MB,
 * 100,000 rows in 135 MB were written and read at random in the same CPU time.
 */
const SHARED_BUFFERS = '32MB';
/** A section with an empty payload and the name `q`, which says nothing: V8 takes the module for another one. */
const CUSTOM_SECTION = Uint8Array.of(0, 2, 1, 0x71);

/**
 * Opens an embedded PostgreSQL as `PGlite.create` does, in half of the memory. Where its folder is new, the database is made first.
 *
 * The grammar of SQL is one function of 105 kB, most of it one loop, which V8 finds hot after a few statements. To optimize it takes
 * 600 MB and seconds of CPU, and it is no faster then. So it is compiled while V8 counts nothing, and V8 asks no more.
 */
export async function openLeanPglite(options: PGliteOptions): Promise<PGlite> {
  const settings = {
    ...options,
    startParams: [...PGlite.defaultStartParams, '-c', `shared_buffers=${SHARED_BUFFERS}`],
  };
  const { dataDir } = settings;
  if (dataDir !== undefined && !(await holdsDatabase(dataDir))) {
    await mkdir(dirname(dataDir), { recursive: true });
    await requireSpaceForDatabase(dirname(dataDir));
    await createFolder(dataDir, (temporary) => makeDatabase({ ...settings, dataDir: temporary }));
  }
  const client = new LeanPglite(settings);
  await client.waitReady;
  await makePrivate(dataDir);
  return client;
}

class LeanPglite extends PGlite {
  /** PGlite's first statement. Before it, an empty one needs the grammar and little else. */
  override async _initArrayTypes(options?: { force?: boolean }): Promise<void> {
    await withoutTierUp(() => this.exec(''));
    await super._initArrayTypes(options);
  }

  override async close(): Promise<void> {
    await super.close();
    await makePrivate(this.dataDir);
  }
}

/** All that `initdb` runs stays as it is at first, so it runs in a module of its own. */
async function makeDatabase(settings: PGliteOptions): Promise<void> {
  const bytes = await readFile(new URL('pglite.wasm', import.meta.resolve('@electric-sql/pglite')));
  const pgliteWasmModule = await WebAssembly.compile(Buffer.concat([bytes, CUSTOM_SECTION]));
  const client = await withoutTierUp(() => PGlite.create({ ...settings, pgliteWasmModule }));
  await client.close();
}

/** PGlite's initdb gives its files 0666 and its server 0644 to some, whatever the umask: a few milliseconds put them right. */
async function makePrivate(folder: string | undefined): Promise<void> {
  if (folder !== undefined) await tightenPermissions([folder], new AbortController().signal);
}

/**
 * Functions of WebAssembly that run for the first time meanwhile are never optimized: the code that would count how often they run is left
 * out. The flag names the one function that may be, here an import, which has no code.
 */
async function withoutTierUp<T>(run: () => Promise<T>): Promise<T> {
  setFlagsFromString('--wasm-tier-up-filter=0');
  try {
    return await run();
  } finally {
    setFlagsFromString('--wasm-tier-up-filter=-1');
  }
}
