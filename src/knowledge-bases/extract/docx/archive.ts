import { crc32, createInflateRaw } from 'node:zlib';
import { invalidFile, tooLarge } from '../bounds.ts';
import { contentRange } from '../content.ts';
import type { ReadJob } from '../extracted-document.ts';

/** Bytes of a part, unpacked: the text of a book of a thousand pages with all its marks is a tenth of it. */
const MAX_PART_BYTES = 268_435_456;
/** Parts of an archive. */
const MAX_ENTRIES = 20_000;
/** The end record, with the longest comment that it may have. */
const END_BYTES = 65_557;
/** Bytes of the list of parts. */
const MAX_DIRECTORY_BYTES = 16_777_216;
/** Packed bytes that are handed to the unpacker at once. */
const PIECE_BYTES = 65_536;

const END_MARK = Buffer.from('PK\x05\x06', 'latin1');
const ENTRY_MARK = 0x02014b50;
const LOCAL_MARK = 0x04034b50;

/** Where a part lies. */
interface Entry {
  offset: number;
  packedBytes: number;
  bytes: number;
  method: number;
  isEncrypted: boolean;
  /** CRC-32 of what is unpacked. */
  checksum: number;
}

/** A ZIP archive (APPNOTE 6.3), read part by part: nothing is unpacked but what is asked for, and never more than is allowed. */
export class Archive {
  readonly #job: ReadJob;
  readonly #entries: ReadonlyMap<string, Entry>;

  constructor(job: ReadJob, entries: ReadonlyMap<string, Entry>) {
    this.#job = job;
    this.#entries = entries;
  }

  /** Whether it has the part. */
  has(name: string): boolean {
    return this.#entries.has(name);
  }

  /**
   * A part, unpacked, in pieces; nothing where there is no such part. Throws `too_large` when it says that it is larger than it may be or
   * turns out to be, and `invalid_file` when it is damaged.
   */
  async *read(name: string): AsyncGenerator<Uint8Array> {
    const entry = this.#entries.get(name);
    if (entry === undefined) return;
    if (entry.isEncrypted || (entry.method !== 0 && entry.method !== 8)) {
      throw invalidFile(`The part '${name}' of the archive is packed in a way that cannot be read.`);
    }
    if (entry.bytes > MAX_PART_BYTES) throw tooLargePart(name);
    const packed = this.#packed(name, entry);
    let [bytes, checksum] = [0, 0];
    for await (const piece of entry.method === 0 ? packed : inflated(packed, name)) {
      bytes += piece.length;
      if (bytes > MAX_PART_BYTES) throw tooLargePart(name);
      checksum = crc32(piece, checksum);
      yield piece;
    }
    if (checksum !== entry.checksum) throw invalidFile(`The part '${name}' of the archive is damaged.`);
  }

  async *#packed(name: string, { offset, packedBytes }: Entry): AsyncGenerator<Uint8Array> {
    const head = Buffer.from(await contentRange(this.#job, offset, offset + 30));
    if (head.length < 30 || head.readUInt32LE(0) !== LOCAL_MARK)
      throw invalidFile(`The part '${name}' of the archive is damaged.`);
    const start = offset + 30 + head.readUInt16LE(26) + head.readUInt16LE(28);
    for (let at = start; at < start + packedBytes; at += PIECE_BYTES) {
      const piece = await contentRange(this.#job, at, Math.min(at + PIECE_BYTES, start + packedBytes));
      if (piece.length === 0) throw invalidFile('The archive ends before its parts do.');
      yield piece;
    }
  }
}

async function* inflated(packed: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<Uint8Array> {
  const inflate = createInflateRaw();
  const feeding = (async () => {
    for await (const piece of packed) {
      if (inflate.destroyed) return;
      if (!inflate.write(piece))
        await new Promise<void>((resolve) => inflate.once('drain', resolve).once('close', resolve));
    }
    inflate.end();
  })().catch((error: Error) => void inflate.destroy(error));
  try {
    yield* inflate;
  } catch (error) {
    throw invalidFile(`The part '${name}' of the archive is damaged.`, error);
  } finally {
    inflate.destroy();
    await feeding;
  }
}

function tooLargePart(name: string) {
  return tooLarge(`its part '${name}' has more than ${MAX_PART_BYTES / 1_048_576} MiB when it is unpacked`);
}

/** Reads the list of an archive's parts. Throws `invalid_file` for what is no whole ZIP archive. */
export async function openArchive(job: ReadJob): Promise<Archive> {
  const from = Math.max(0, job.bytes - END_BYTES);
  const tail = Buffer.from(await contentRange(job, from, job.bytes));
  const at = tail.lastIndexOf(END_MARK);
  if (at === -1 || at + 22 > tail.length) throw invalidFile('The file is no whole archive: it may be cut off.');
  const count = tail.readUInt16LE(at + 10);
  const bytes = tail.readUInt32LE(at + 12);
  const offset = tail.readUInt32LE(at + 16);
  if (offset + bytes > job.bytes) throw invalidFile("The archive's list of parts is damaged.");
  if (bytes > MAX_DIRECTORY_BYTES || count > MAX_ENTRIES) throw tooLarge('it is an archive of too many parts');
  const directory = Buffer.from(await contentRange(job, offset, offset + bytes));
  return new Archive(job, entriesOf(directory, count));
}

function entriesOf(directory: Buffer, count: number): Map<string, Entry> {
  const entries = new Map<string, Entry>();
  let at = 0;
  for (let i = 0; i < count; i++) {
    if (at + 46 > directory.length || directory.readUInt32LE(at) !== ENTRY_MARK) {
      throw invalidFile("The archive's list of parts is damaged.");
    }
    const nameBytes = directory.readUInt16LE(at + 28);
    const name = directory
      .toString('utf8', at + 46, at + 46 + nameBytes)
      .replace(/^\//, '')
      .replaceAll('\\', '/');
    entries.set(name, {
      checksum: directory.readUInt32LE(at + 16),
      isEncrypted: (directory.readUInt16LE(at + 8) & 1) === 1,
      method: directory.readUInt16LE(at + 10),
      packedBytes: directory.readUInt32LE(at + 20),
      bytes: directory.readUInt32LE(at + 24),
      offset: directory.readUInt32LE(at + 42),
    });
    at += 46 + nameBytes + directory.readUInt16LE(at + 30) + directory.readUInt16LE(at + 32);
  }
  return entries;
}
