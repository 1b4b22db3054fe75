import { imageSize } from 'image-size';
import { invalidFile, tooLarge } from '../../limits.ts';
import { MAX_IMAGE_PIXELS } from './limits.ts';
import type { NumberedTask } from './recognize-pages.ts';
import { listTiffPages } from './tiff-pages.ts';

/** Types of images that can be read. */
const TYPES: ReadonlySet<string | undefined> = new Set(['png', 'jpg', 'webp', 'tiff']);

/** A page of an image file; `orientation` is that of EXIF. */
type ImagePage = Extract<NumberedTask, { kind: 'image' | 'tiff' }>;

/**
 * Lists the pages of an image file by its headers. Throws `invalid_file` for other files, `too_large` for too many
 * pixels.
 */
export function listImagePages(file: Buffer): ImagePage[] {
  const { type, orientation = 1, ...size } = measureImage(file);
  if (type !== 'tiff') {
    checkPixels(size);
    return [{ kind: 'image', orientation, page: 1 }];
  }
  return listTiffPages(file).map((directory, index) => {
    checkPixels(directory);
    return { kind: 'tiff', directory, page: index + 1 };
  });
}

function measureImage(file: Buffer) {
  try {
    const size = imageSize(file);
    if (TYPES.has(size.type)) return size;
  } catch (error) {
    throw invalidFile('The file is damaged, or not an image in PNG, JPEG, WebP or TIFF.', error);
  }
  throw invalidFile('The file is not an image in PNG, JPEG, WebP or TIFF.');
}

function checkPixels({ width, height }: { width: number; height: number }): void {
  if (width < 1 || height < 1) throw invalidFile('The image is damaged: it has no pixels.');
  if (width * height <= MAX_IMAGE_PIXELS) return;
  const limit = MAX_IMAGE_PIXELS.toLocaleString('en');
  throw tooLarge(`it has ${width.toLocaleString('en')} × ${height.toLocaleString('en')} pixels; the limit is ${limit}`);
}
