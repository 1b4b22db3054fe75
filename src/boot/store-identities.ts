import { hostname } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { eq } from 'drizzle-orm';
import { newMarkerKey } from '../blobs/blob-store.ts';
import type { Config } from '../config/config.ts';
import { SECRETS_KEY_FILE } from '../data-folder/entries.ts';
import type { Sql } from '../db/db.ts';
import type { Deps } from '../deps.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { DecryptionError } from '../lib/secrets.ts';
import { storeIdentities } from './tables.ts';

/** A store that belongs to one database. */
export type StoreName = (typeof storeIdentities.store.enumValues)[number];

/** Owner of the sealed marker, to which the ciphertext is bound. */
const SECRETS_OWNER = 'store_identities';
/** Limit of each request to the blob store. */
const BLOB_TIMEOUT_MS = 30_000;

type IdentityDeps = Pick<Deps, 'db' | 'blobs' | 'chunks'> & {
  /** Null in commands, which open no credentials, and leave it to services to decide what belongs to the database. */
  secrets: Deps['secrets'] | null;
  config: Pick<Config, 'dataDir' | 'blobsUrl' | 'indexUrl' | 'secretsKey'>;
};

/** How a store is marked and recognized. */
interface MarkedStore {
  /** Subject of the message to the operator. */
  title: string;
  location: string;
  /** What to change when the store is another one. */
  remedy: string;
  /** Stores a marker that no other store has. Returns its name. */
  mark(): Promise<string>;
  holds(marker: string): Promise<boolean>;
}

/**
 * Throws an `OperatorError` that names the setting when the blob store, the search index or the key of stored
 * credentials is not the one that belongs to the database: such a process would serve empty searches and mark the
 * indexes of the other processes as damaged. The first process on a database decides what belongs to it. Stores are
 * recognized by a marker in them, so that two machines may reach one store by different URLs. An embedded database
 * belongs to the stores in its data folder: nothing to compare.
 */
export async function requireOwnStores(deps: IdentityDeps): Promise<void> {
  if (deps.db.startsAlone) return;
  const stores: Partial<Record<StoreName, MarkedStore>> = {
    files: blobStore(deps),
    index: searchIndex(deps),
    ...(deps.secrets !== null && { secrets: secretsKey(deps.secrets, deps.config) }),
  };
  for (const [name, store] of Object.entries(stores) as [StoreName, MarkedStore][]) {
    const stored = await selectIdentity(deps.db.sql, name);
    if (stored === undefined && deps.secrets === null) continue;
    const identity = stored ?? (await adopt(deps.db.sql, name, store));
    if (await store.holds(identity.marker)) continue;
    throw new OperatorError(
      `${store.title} of this process (${store.location}) is not the one that belongs to the database, which is ${identity.location}. ${store.remedy} If that one is lost, 'quire db forget-store ${name}' accepts this one.`,
    );
  }
}

/** Forgets which store belongs to the database: the next process that starts decides. */
export async function forgetStore(sql: Sql, name: StoreName): Promise<void> {
  await sql.delete(storeIdentities).where(eq(storeIdentities.store, name));
}

async function selectIdentity(sql: Sql, name: StoreName) {
  const [row] = await sql.select().from(storeIdentities).where(eq(storeIdentities.store, name));
  return row;
}

/** Marks the store before its row is inserted: a row of another process is visible only with its marker. */
async function adopt(sql: Sql, name: StoreName, store: MarkedStore) {
  const row = { store: name, marker: await store.mark(), location: store.location };
  await sql.insert(storeIdentities).values(row).onConflictDoNothing();
  return (await selectIdentity(sql, name)) ?? row;
}

function blobStore({ blobs, config }: IdentityDeps): MarkedStore {
  return {
    title: 'The blob store',
    location: config.blobsUrl ?? localPath(config, 'blobs'),
    remedy: setAsElsewhere('QUIRE_BLOBS_URL'),
    mark: async () => {
      const key = newMarkerKey();
      await blobs.put(key, Readable.from([Buffer.from(key)]), AbortSignal.timeout(BLOB_TIMEOUT_MS));
      return key;
    },
    holds: async (key) => (await blobs.size(key, AbortSignal.timeout(BLOB_TIMEOUT_MS))) !== null,
  };
}

function searchIndex({ chunks, config }: IdentityDeps): MarkedStore {
  return {
    title: 'The search index',
    location: config.indexUrl ?? localPath(config, 'index'),
    remedy: setAsElsewhere('QUIRE_INDEX_URL'),
    mark: () => chunks.mark(),
    holds: (marker) => chunks.hasTable(marker),
  };
}

function secretsKey(secrets: Deps['secrets'], config: IdentityDeps['config']): MarkedStore {
  return {
    title: 'The key of stored credentials',
    location: config.secretsKey === null ? localPath(config, SECRETS_KEY_FILE) : 'QUIRE_SECRETS_KEY',
    remedy:
      'Set QUIRE_SECRETS_KEY to the value of the other processes, or, where it is not set, to the content of secrets.key in their data folder.',
    mark: async () => secrets.seal('', SECRETS_OWNER),
    holds: async (sealed) => canOpen(secrets, sealed),
  };
}

const localPath = ({ dataDir }: IdentityDeps['config'], name: string): string => `${hostname()}:${join(dataDir, name)}`;

const setAsElsewhere = (setting: string): string =>
  `Set ${setting} to the value of the other processes; a folder serves a single process.`;

function canOpen(secrets: Deps['secrets'], sealed: string): boolean {
  try {
    secrets.open(sealed, SECRETS_OWNER);
    return true;
  } catch (error) {
    if (error instanceof DecryptionError) return false;
    throw error;
  }
}
