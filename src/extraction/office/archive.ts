import { isUtf8 } from 'node:buffer';
import { crc32 } from 'node:zlib';
import { type Entry, fromBufferPromise, openPromise, type ZipFile } from 'yauzl';
import { createDecoder, detectEncoding } from '../decode.ts';
import type { ReaderInput } from '../extracted-document.ts';
import { IngestionError } from '../ingestion-error.ts';
import { invalidFile, tooLarge } from '../limits.ts';

/** Maximum bytes of a decompressed part, ten times the XML of a book of a thousand pages. */
const MAX_PART_BYTES = 268_435_456;
const MAX_ENTRIES = 20_000;

/** A ZIP archive. Parts are decompressed on demand, as streams, up to a maximum size. */
export class Archive {
  readonly #zip: ZipFile;
  readonly #entries: ReadonlyMap<string, Entry>;

  private constructor(zip: ZipFile, entries: ReadonlyMap<string, Entry>) {
    this.#zip = zip;
    this.#entries = entries;
  }

  /** Reads the central directory. Throws `invalid_file` for anything but a complete ZIP archive. Close it after use. */
  static async open({ content }: ReaderInput): Promise<Archive> {
    let zip: ZipFile | null = null;
    try {
      // Names are decoded here: yauzl rejects absolute ones, which some programs write.
      const options = { decodeStrings: false, autoClose: false } as const;
      zip =
        'path' in content
          ? await openPromise(content.path, options)
          : await fromBufferPromise(Buffer.from(content.buffer, content.byteOffset, content.byteLength), options);
      if (zip.entryCount > MAX_ENTRIES) throw tooLarge(`it is an archive of more than ${MAX_ENTRIES} parts`);
      const entries = new Map<string, Entry>();
      for await (const entry of zip.eachEntry()) {
        entries.set(decodeName(entry.fileName).replace(/^\//, '').replaceAll('\\', '/'), entry);
      }
      return new Archive(zip, entries);
    } catch (error) {
      zip?.close();
      if (error instanceof IngestionError) throw error;
      throw invalidFile('The file is not a complete ZIP archive.', error);
    }
  }

  /** Whether the archive contains the part. */
  has(name: string): boolean {
    return this.#entries.has(name);
  }

  /** Names of the parts with their declared sizes when decompressed, in the order of the archive. */
  listParts(): { name: string; bytes: number }[] {
    return [...this.#entries].map(([name, { uncompressedSize }]) => ({ name, bytes: uncompressedSize }));
  }

  /** Reads a decompressed part as a whole. Throws as `read` does. */
  async readWhole(name: string): Promise<Buffer> {
    return Buffer.concat(await Array.fromAsync(this.read(name)));
  }

  /**
   * Streams a decompressed part; nothing when it does not exist. Throws `too_large` when its declared or actual size
   * exceeds the maximum or the declared one, `encrypted_file`, and `invalid_file` when it is damaged.
   */
  async *read(name: string): AsyncGenerator<Uint8Array> {
    const entry = this.#entries.get(name);
    if (entry === undefined) return;
    if (entry.uncompressedSize > MAX_PART_BYTES) throw partTooLarge(name);
    if (entry.isEncrypted())
      throw new IngestionError('encrypted_file', `The part '${name}' of the archive is protected by a password.`);
    let checksum = 0;
    try {
      for await (const bytes of await this.#zip.openReadStreamPromise(entry)) {
        checksum = crc32(bytes, checksum);
        yield bytes;
      }
    } catch (error) {
      if (error instanceof Error && error.message.startsWith('too many bytes')) throw partTooLarge(name);
      throw invalidFile(`The part '${name}' of the archive is damaged.`, error);
    }
    if (checksum !== entry.crc32) throw invalidFile(`The part '${name}' of the archive is damaged.`);
  }

  /** Closes the archive. */
  close(): void {
    this.#zip.close();
  }
}

/** Older programs write names in the code page of their system. */
function decodeName(name: Buffer | string): string {
  const bytes = Buffer.from(name);
  return isUtf8(bytes) ? bytes.toString() : createDecoder(detectEncoding(bytes)).decode(bytes);
}

function partTooLarge(name: string): IngestionError {
  return tooLarge(`its part '${name}' has more than ${MAX_PART_BYTES / 1_048_576} MiB, or more than it declares`);
}
