/** Bytes of the header: the magic and six integers. */
const HEAD_BYTES = 32;
const MAGIC = 'QUIREEMB';
const VERSION = 1;

/** A parsed file of embedding weights; the model card has the layout. */
export interface EmbeddingWeights {
  /** Rows of word pieces, which come first, and of hashed n-grams. */
  pieceRows: number;
  bucketRows: number;
  /** Trained components of a row, and components of a vector. */
  width: number;
  dimensions: number;
  /** Scale of each quantised row, and weight of its pseudo-random direction. */
  scales: Float32Array;
  apart: Float32Array;
  /** Quantised rows: 4 bits per component, `width / 2` bytes per row. */
  packed: Uint8Array;
  /** Word pieces in the order of their rows. */
  pieces: string[];
}

/** Parses a file; the quantised rows are not copied. Throws for another kind of file or a truncated one. */
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
  if (file.length !== textAt + textBytes) throw new Error('the embedding model is truncated');
  const floats = (from: number) => Float32Array.from({ length: rows }, (_, i) => view.getFloat32(from + 4 * i, true));
  const pieces = Buffer.from(file.subarray(textAt)).toString('latin1').split('\n');
  if (pieces.length !== pieceRows) throw new Error('the embedding model has a wrong number of word pieces');
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
