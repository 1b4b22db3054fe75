/** POSIX tar (ustar) as a stream, with regular files only: enough for archives of our own, readable by every `tar`. */

const BLOCK = 512;
/** Eleven octal digits. */
const MAX_ENTRY_BYTES = 8 ** 11 - 1;
/** Bytes of a name without the prefix field. */
const MAX_NAME_BYTES = 100;
const REGULAR_FILE: ReadonlySet<string> = new Set(['0', '\0']);

/** The bytes are no tar archive, or end early. The message completes a sentence about the archive. */
export class TarError extends Error {
  override readonly name = 'TarError';
}

/** Name and size of an entry. */
export interface TarEntry {
  name: string;
  bytes: number;
}

/** Returns the header of a regular file. */
export function tarHeader({ name, bytes }: TarEntry, modifiedAt: Date): Buffer {
  if (Buffer.byteLength(name) > MAX_NAME_BYTES || bytes > MAX_ENTRY_BYTES) throw new TarError(`cannot hold ${name}`);
  const header = Buffer.alloc(BLOCK);
  const octal = (value: number, at: number, digits: number) =>
    header.write(`${value.toString(8).padStart(digits, '0')}\0`, at, 'latin1');
  header.write(name, 0);
  octal(0o644, 100, 7);
  octal(0, 108, 7);
  octal(0, 116, 7);
  octal(bytes, 124, 11);
  octal(Math.floor(modifiedAt.getTime() / 1000), 136, 11);
  header.write('0ustar\u000000', 156, 'latin1');
  header.write(`${checksum(header).toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return header;
}

/** Returns the zeros after the content of an entry. */
export const tarPadding = (bytes: number): Buffer => Buffer.alloc((BLOCK - (bytes % BLOCK)) % BLOCK);

/** Returns the end of an archive. */
export const tarEnd = (): Buffer => Buffer.alloc(2 * BLOCK);

/** Sum of the bytes of a header, its own field counted as spaces. */
function checksum(header: Uint8Array): number {
  return header.reduce((sum, byte, at) => sum + (at >= 148 && at < 156 ? 0x20 : byte), 0);
}

/** Reads an archive entry by entry, with the memory of one chunk of its source. */
export class TarReader {
  readonly #source: AsyncIterator<Uint8Array>;
  #chunk: Uint8Array = Buffer.alloc(0);
  /** Content of the current entry that was not read, and the padding behind it. */
  #remaining = 0;
  #padding = 0;

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** Returns the next entry, skipping what was not read of the current one; null at the end of the archive. */
  async next(): Promise<TarEntry | null> {
    await this.#skip(this.#remaining + this.#padding);
    [this.#remaining, this.#padding] = [0, 0];
    const header = await this.#readBlock();
    if (header.every((byte) => byte === 0)) {
      if ((await this.#readBlock()).some((byte) => byte !== 0)) throw new TarError('has no proper end');
      return null;
    }
    const entry = parseHeader(header);
    this.#remaining = entry.bytes;
    this.#padding = tarPadding(entry.bytes).length;
    return entry;
  }

  /** Yields the content of the current entry. */
  async *content(): AsyncGenerator<Uint8Array> {
    while (this.#remaining > 0) {
      const part = await this.#take(this.#remaining);
      this.#remaining -= part.length;
      yield part;
    }
  }

  /** Reads the bytes after the end of the archive, which have no meaning, so that its source completes. */
  async drain(): Promise<void> {
    while (!(await this.#source.next()).done);
  }

  /** Ends the source early. */
  async close(): Promise<void> {
    await this.#source.return?.();
  }

  async #readBlock(): Promise<Buffer> {
    const parts: Uint8Array[] = [];
    for (let missing = BLOCK; missing > 0; ) {
      const part = await this.#take(missing);
      parts.push(part);
      missing -= part.length;
    }
    return Buffer.concat(parts);
  }

  async #skip(bytes: number): Promise<void> {
    for (let missing = bytes; missing > 0; ) missing -= (await this.#take(missing)).length;
  }

  /** Returns up to `max` bytes, at least one. */
  async #take(max: number): Promise<Uint8Array> {
    while (this.#chunk.length === 0) {
      const { value, done } = await this.#source.next();
      if (done === true) throw new TarError('ends early: it is truncated');
      this.#chunk = value;
    }
    const part = this.#chunk.subarray(0, max);
    this.#chunk = this.#chunk.subarray(part.length);
    return part;
  }
}

function parseHeader(header: Buffer): TarEntry {
  const field = (from: number, to: number) => header.toString('utf8', from, to).replace(/\0.*$/s, '');
  const octal = (from: number, to: number) => {
    const digits = /^ *([0-7]+)[ \0]*$/.exec(header.toString('latin1', from, to))?.[1];
    if (digits === undefined) throw new TarError('is no tar archive');
    return Number.parseInt(digits, 8);
  };
  if (octal(148, 156) !== checksum(header)) throw new TarError('is no tar archive, or is damaged');
  const name = field(0, MAX_NAME_BYTES);
  const prefix = field(345, 500);
  const type = header.toString('latin1', 156, 157);
  if (!REGULAR_FILE.has(type) || prefix !== '') {
    throw new TarError(`has the entry '${prefix === '' ? name : `${prefix}/${name}`}', which is no plain file of it`);
  }
  return { name, bytes: octal(124, 136) };
}
