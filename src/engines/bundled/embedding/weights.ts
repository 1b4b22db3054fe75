/** Bytes before the arrays: the magic and six numbers. */
const HEAD_BYTES = 32;
const MAGIC = 'QUIREEMB';
const VERSION = 1;

/** A file of embedding weights, taken apart; the card of the model gives its layout. */
export interface EmbeddingWeights {
  /** Rows of word pieces, which come first, and of hashed words. */
  pieceRows: number;
  bucketRows: number;
  /** Numbers of a row that were learned, and of a vector. */
  width: number;
  dimensions: number;
  /** What the numbers of a row are multiplied by, and the weight of what only tells it apart. */
  scales: Float32Array;
  apart: Float32Array;
  /** Two numbers a byte, `width / 2` bytes a row. */
  packed: Uint8Array;
  /** The pieces in the order of their rows. */
  pieces: string[];
}

/** Takes a file apart without copying what is large. Throws an Error for one that is of another kind or cut short. */
export function readEmbeddingWeights(file: Uint8Array): EmbeddingWeights {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const isOurs = file.length >= HEAD_BYTES && Buffer.from(file.subarray(0, MAGIC.length)).toString('latin1') === MAGIC;
  if (!isOurs || view.getUint32(8, true) !== VERSION) throw new Error('not an embedding model of this version');
  const [pieceRows, bucketRows, width, dimensions, textBytes] = [12, 16, 20, 24, 28].map((at) =>
    view.getUint32(at, true),
  ) as [number, number, number, number, number];
  const rows = pieceRows + bucketRows;
  const packedAt = HEAD_BYTES + 8 * rows;
  const textAt = packedAt + (rows * width) / 2;
  if (file.length !== textAt + textBytes) throw new Error('the file of the embedding model is cut short');
  const floats = (from: number) => Float32Array.from({ length: rows }, (_, i) => view.getFloat32(from + 4 * i, true));
  const pieces = Buffer.from(file.subarray(textAt)).toString('latin1').split('\n');
  if (pieces.length !== pieceRows) throw new Error('the file of the embedding model has other pieces than it says');
  return {
    pieceRows,
    bucketRows,
    width,
    dimensions,
    scales: floats(HEAD_BYTES),
    apart: floats(HEAD_BYTES + 4 * rows),
    packed: file.subarray(packedAt, textAt),
    pieces,
  };
}
