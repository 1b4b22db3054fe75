import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { StoredBlob } from '../blobs/blob-store.ts';
import { Meter } from '../blobs/meter.ts';
import { parseJsonAs } from '../lib/json-file.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { DamagedObjectError, decodeObject, deriveTargetKey, encodeObject } from './codec.ts';
import { BackupManifest, Descriptor } from './manifest.ts';
import type { BackupTarget, StoredObject } from './target.ts';
import { type ArchivedWal, parseWalObjectName } from './wal-names.ts';

const DESCRIPTOR = 'quire-backup.json';
const SALT_BYTES = 16;
/** Plaintext whose ciphertext shows whether a passphrase is the right one. */
const CHECK = 'quire backup';
const MANIFEST = /^base\/([^/]+)\/manifest$/;

/** Name of an object of a base backup. */
export const baseObjectName = (id: string, path: string): string => `base/${id}/${path}`;
/** Name of the object with the content of an uploaded file. */
export const blobObjectName = (sha256: string): string => `blobs/${sha256.slice(0, 2)}/${sha256}`;
/** Name of the object with the key of stored credentials. Apart from the base backups, so that rules can guard it. */
export const secretsObjectName = (id: string): string => `secrets/${id}.key`;

/** The backups in a target, decoded. Objects are named above; the target belongs to one database cluster. */
export class BackupRepository {
  readonly target: BackupTarget;
  /** Null: nothing was backed up to the target yet. */
  #descriptor: Descriptor | null;
  readonly #passphrase: string | null;
  #key: Buffer | null;

  private constructor(
    target: BackupTarget,
    passphrase: string | null,
    descriptor: Descriptor | null,
    key: Buffer | null,
  ) {
    this.target = target;
    this.#passphrase = passphrase;
    this.#descriptor = descriptor;
    this.#key = key;
  }

  /** Throws an `OperatorError` when the passphrase is missing, wrong, or not wanted. */
  static async open(target: BackupTarget, passphrase: string | null, signal: AbortSignal): Promise<BackupRepository> {
    const source = await target.read(DESCRIPTOR, signal);
    if (source === null) return new BackupRepository(target, passphrase, null, null);
    const descriptor = parseJsonAs((await buffer(source)).toString(), Descriptor);
    if (descriptor === null) {
      throw new OperatorError(
        `${DESCRIPTOR} in the backup target ${target.location} is damaged or of a newer version of Quire.`,
      );
    }
    return new BackupRepository(target, passphrase, descriptor, await openKey(target, descriptor, passphrase));
  }

  get isEncrypted(): boolean {
    return this.#key !== null;
  }

  /** System identifier of the cluster that was backed up; null when nothing was. */
  get system(): string | null {
    return this.#descriptor?.system ?? null;
  }

  /** Claims a new target for a cluster. Throws an `OperatorError` when it belongs to another one. */
  async claim(system: string, signal: AbortSignal): Promise<void> {
    if (this.#descriptor === null) {
      const salt = randomBytes(SALT_BYTES);
      const key = this.#passphrase === null ? null : await deriveTargetKey(this.#passphrase, salt);
      const encryption =
        key === null ? null : { salt: salt.toString('base64'), check: (await sealCheck(key)).toString('base64') };
      const descriptor: Descriptor = { format: 1, system, encryption };
      await this.target.put(DESCRIPTOR, Readable.from([Buffer.from(JSON.stringify(descriptor))]), signal);
      this.#descriptor = descriptor;
      this.#key = key;
    }
    if (this.#descriptor.system === system) return;
    throw new OperatorError(
      `The backup target ${this.target.location} belongs to another database. Set QUIRE_BACKUP_URL to a folder or a prefix for this one alone.`,
    );
  }

  /** Encodes and stores an object. Returns size and hash of its content. */
  async put(name: string, source: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<StoredBlob> {
    const meter = new Meter();
    await this.target.put(name, encodeObject(meter.pass(source, signal), name, this.#key), signal);
    return meter.result();
  }

  /**
   * Decodes an object. Throws a `DamagedObjectError` when it is missing, and later when its content is found to be
   * damaged.
   */
  async read(name: string, signal: AbortSignal): Promise<AsyncGenerator<Uint8Array>> {
    const source = await this.target.read(name, signal);
    if (source === null) throw new DamagedObjectError(`${name} is missing`);
    return decodeObject(source, name, this.#key);
  }

  /** Reads a small object. */
  async readText(name: string, signal: AbortSignal): Promise<string> {
    return (await buffer(await this.read(name, signal))).toString();
  }

  /** Contents of files that belong to a base backup. */
  async *readBlobList(id: string, signal: AbortSignal): AsyncGenerator<{ sha256: string; bytes: number }> {
    let text = '';
    for await (const part of await this.read(baseObjectName(id, 'blobs'), signal)) {
      const lines = (text + Buffer.from(part).toString('latin1')).split('\n');
      text = lines.pop() ?? '';
      for (const line of lines) {
        const [sha256 = '', bytes] = line.split(' ');
        yield { sha256, bytes: Number(bytes) };
      }
    }
  }

  /** Complete base backups, oldest first. `damaged`: gets the names of manifests that cannot be read. */
  async listBackups(signal: AbortSignal, damaged: string[] = []): Promise<BackupManifest[]> {
    const manifests: BackupManifest[] = [];
    for await (const { name } of this.target.list('base/', signal)) {
      if (!MANIFEST.test(name)) continue;
      const manifest = await this.#readManifest(name, signal);
      if (manifest === null) damaged.push(name);
      else manifests.push(manifest);
    }
    return manifests.sort((a, b) => a.startedAt - b.startedAt);
  }

  /** Ids of base backups without a manifest: their process has ended. */
  async listUnfinished(signal: AbortSignal): Promise<string[]> {
    const ids = new Map<string, boolean>();
    for await (const { name } of this.target.list('base/', signal)) {
      const id = name.split('/')[1] ?? '';
      ids.set(id, (ids.get(id) ?? false) || MANIFEST.test(name));
    }
    return [...ids].flatMap(([id, isComplete]) => (isComplete ? [] : [id]));
  }

  async #readManifest(name: string, signal: AbortSignal): Promise<BackupManifest | null> {
    try {
      return parseJsonAs(await this.readText(name, signal), BackupManifest);
    } catch (error) {
      if (error instanceof DamagedObjectError) return null;
      throw error;
    }
  }

  /** Archived files of WAL, in the order of their names. */
  async listWal(signal: AbortSignal): Promise<ArchivedWal[]> {
    const files: ArchivedWal[] = [];
    for await (const { name } of this.target.list('wal/', signal)) {
      const file = parseWalObjectName(name);
      if (file !== null) files.push(file);
    }
    return files.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Lists objects; see `BackupTarget`. */
  list(prefix: string, signal: AbortSignal): AsyncIterable<StoredObject> {
    return this.target.list(prefix, signal);
  }

  /** Deletes the objects whose names begin with `prefix`. */
  async deleteAll(prefix: string, signal: AbortSignal): Promise<void> {
    for await (const { name } of this.target.list(prefix, signal)) await this.target.delete(name, signal);
  }
}

async function openKey(
  { location }: BackupTarget,
  { encryption }: Descriptor,
  passphrase: string | null,
): Promise<Buffer | null> {
  if (encryption === null) {
    if (passphrase === null) return null;
    throw new OperatorError(
      `The backups in ${location} are not encrypted, but QUIRE_BACKUP_PASSPHRASE is set. Unset it, or set QUIRE_BACKUP_URL to a new folder or prefix.`,
    );
  }
  if (passphrase === null)
    throw new OperatorError(`The backups in ${location} are encrypted. Set QUIRE_BACKUP_PASSPHRASE.`);
  const key = await deriveTargetKey(passphrase, Buffer.from(encryption.salt, 'base64'));
  try {
    const check = Readable.from([Buffer.from(encryption.check, 'base64')]);
    await buffer(decodeObject(check, DESCRIPTOR, key));
    return key;
  } catch (error) {
    if (!(error instanceof DamagedObjectError)) throw error;
    throw new OperatorError(`QUIRE_BACKUP_PASSPHRASE is not the passphrase of the backups in ${location}.`);
  }
}

const sealCheck = (key: Buffer): Promise<Buffer> =>
  buffer(encodeObject(Readable.from([Buffer.from(CHECK)]), DESCRIPTOR, key));
