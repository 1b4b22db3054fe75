import { invalidFile, MAX_PAGES, tooLarge } from '../../limits.ts';

/** A page of a TIFF file. */
export interface TiffPage {
  /** Position of its directory in the file. */
  directory: number;
  width: number;
  height: number;
}

/** TIFF 6.0: position of the first directory in the header, bytes of an entry, tags and the type of 16-bit values. */
const FIRST_DIRECTORY = 4;
const ENTRY_BYTES = 12;
const TAG = { width: 256, height: 257 };
const SHORT = 3;
const MAGIC = { classic: 42, big: 43 };

/** Lists the pages of a TIFF file. Throws `invalid_file` for a damaged one, `too_large` above the maximum of pages. */
export function listTiffPages(file: Buffer): TiffPage[] {
  const isLittle = file.toString('latin1', 0, 2) === 'II';
  const word = (at: number) => (isLittle ? file.readUInt16LE(at) : file.readUInt16BE(at));
  const long = (at: number) => (isLittle ? file.readUInt32LE(at) : file.readUInt32BE(at));
  const pages = new Map<number, TiffPage>();
  try {
    if (word(2) === MAGIC.big) throw invalidFile('BigTIFF files are not supported.');
    if (word(2) !== MAGIC.classic) throw invalidFile('The file is not a TIFF.');
    for (let directory = long(FIRST_DIRECTORY); directory !== 0; ) {
      // A directory that follows itself would never end.
      if (pages.has(directory)) throw invalidFile('The TIFF file is damaged: its pages form a circle.');
      if (pages.size >= MAX_PAGES) throw tooLarge(`it has more than ${MAX_PAGES.toLocaleString('en')} pages`);
      const page = { directory, width: 0, height: 0 };
      const end = directory + 2 + word(directory) * ENTRY_BYTES;
      for (let at = directory + 2; at < end; at += ENTRY_BYTES) {
        const value = word(at + 2) === SHORT ? word(at + 8) : long(at + 8);
        if (word(at) === TAG.width) page.width = value;
        if (word(at) === TAG.height) page.height = value;
      }
      pages.set(directory, page);
      directory = long(end);
    }
  } catch (error) {
    if (error instanceof RangeError) throw invalidFile('The TIFF file is damaged or incomplete.', error);
    throw error;
  }
  return [...pages.values()];
}

/** Makes a page the first one, in place: decoders read only the first. */
export function selectTiffPage(file: Buffer, { directory }: TiffPage): void {
  if (file.toString('latin1', 0, 2) === 'II') file.writeUInt32LE(directory, FIRST_DIRECTORY);
  else file.writeUInt32BE(directory, FIRST_DIRECTORY);
}
