/** Messages on a byte stream: a length of four bytes, then the message as `node:v8` serializes it. */
import type { Writable } from 'node:stream';
import { deserialize, serialize } from 'node:v8';

const HEADER_BYTES = 4;
/** A larger frame is damaged: request bodies have at most 512 MiB. */
const MAX_FRAME_BYTES = 1_073_741_824;

/** Writes a message. `written` is called when the stream has taken it, also when it has failed. */
export function writeFrame(stream: Writable, message: unknown, written: () => void): void {
  const payload = serialize(message);
  const header = Buffer.allocUnsafe(HEADER_BYTES);
  header.writeUInt32LE(payload.length);
  // One system call for both.
  stream.cork();
  stream.write(header);
  stream.write(payload, written);
  stream.uncork();
}

/** Collects the bytes of a stream to messages. */
export class FrameReader {
  #chunks: Buffer[] = [];
  #bytes = 0;
  /** Bytes of the next frame with its header; null while the header is incomplete. */
  #needed: number | null = null;

  /** Adds bytes, and yields the messages that they complete. Throws a RangeError for a damaged length. */
  *read(chunk: Buffer): Generator<unknown, void, undefined> {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    while (this.#bytes >= (this.#needed ?? HEADER_BYTES)) {
      if (this.#needed === null) this.#needed = HEADER_BYTES + this.#readLength();
      else {
        const frame = this.#take(this.#needed);
        this.#needed = null;
        yield deserialize(frame.subarray(HEADER_BYTES));
      }
    }
  }

  #readLength(): number {
    const length = this.#join().readUInt32LE();
    if (length > MAX_FRAME_BYTES) throw new RangeError(`a frame of ${length} bytes`);
    return length;
  }

  #take(bytes: number): Buffer {
    const all = this.#join();
    const rest = all.subarray(bytes);
    this.#chunks = rest.length === 0 ? [] : [rest];
    this.#bytes = rest.length;
    return all.subarray(0, bytes);
  }

  #join(): Buffer {
    const [first] = this.#chunks;
    const joined = this.#chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.#chunks);
    this.#chunks = [joined];
    return joined;
  }
}
