import { readAllBytes } from '../../content.ts';
import type { ReaderInput } from '../../extracted-document.ts';
import { noPage } from '../../limits.ts';
import type { PageBitmap } from '../pdfium.ts';
import { MAX_IMAGE_BYTES } from './limits.ts';
import { listImagePages } from './list-image-pages.ts';
import { TesseractCore } from './tesseract-core.ts';
import { selectTiffPage } from './tiff-pages.ts';

/** Kept for the next page: memory of WebAssembly never shrinks, so a second one would double it. */
let core: Promise<TesseractCore> | null = null;

/**
 * Decodes a page of an image as it is displayed, reduced to a width and a number of pixels. Throws as `listImagePages`
 * does, and `not_found` for a page that does not exist.
 */
export async function decodeImagePage(
  input: Pick<ReaderInput, 'content' | 'bytes'>,
  { page, widthPixels, maxPixels }: { page: number; widthPixels: number; maxPixels: number },
): Promise<PageBitmap> {
  const file = Buffer.from(await readAllBytes(input, MAX_IMAGE_BYTES));
  const pages = listImagePages(file);
  const task = pages[page - 1];
  if (task === undefined) throw noPage(pages.length);
  if (task.kind === 'tiff') selectTiffPage(file, task.directory);
  core ??= TesseractCore.load(new Map());
  const tesseract = await core;
  try {
    tesseract.setFile(file);
    tesseract.turn(task.kind === 'image' ? task.orientation : 1, 0);
    return tesseract.reduce(widthPixels, maxPixels);
  } catch (error) {
    // After an error, the memory of WebAssembly may be in any state.
    core = null;
    throw error;
  }
}
