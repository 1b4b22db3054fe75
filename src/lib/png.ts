import { promisify } from 'node:util';
import { crc32, deflate } from 'node:zlib';

const SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
/** Fields of the header chunk: 8 bits per channel, true color, default compression and filters, not interlaced. */
const TRUE_COLOR = [8, 2, 0, 0, 0];

const compress = promisify(deflate);

/** Encodes opaque pixels, of which each has red, green, blue and an ignored fourth byte, as PNG (RFC 2083). */
export async function encodePng(width: number, height: number, pixels: Uint8Array): Promise<Buffer> {
  // A byte before each row names its filter: 0, none.
  const rows = Buffer.alloc(height * (1 + 3 * width));
  let at = 0;
  for (let pixel = 0; pixel < width * height; pixel++) {
    if (pixel % width === 0) at++;
    rows[at++] = pixels[4 * pixel] ?? 0;
    rows[at++] = pixels[4 * pixel + 1] ?? 0;
    rows[at++] = pixels[4 * pixel + 2] ?? 0;
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set(TRUE_COLOR, 8);
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('IDAT', await compress(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Uint8Array): Buffer {
  const typed = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  checksum.writeUInt32BE(crc32(typed));
  return Buffer.concat([length, typed, checksum]);
}
