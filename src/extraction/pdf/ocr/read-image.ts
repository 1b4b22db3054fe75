import { imageSize } from 'image-size';
import { readAllBytes } from '../../content.ts';
import type { ExtractedDocument, Extraction, ReaderInput } from '../../extracted-document.ts';
import { invalidFile, noText, tooLarge } from '../../limits.ts';
import { TextWriter } from '../../text-writer.ts';
import { buildBlocks } from '../paragraphs.ts';
import { removeRunningLines } from '../running-lines.ts';
import { MAX_IMAGE_BYTES, MAX_IMAGE_PIXELS } from './limits.ts';
import { type NumberedTask, recognitionWarning, recognizePages } from './recognize-pages.ts';
import { listTiffPages } from './tiff-pages.ts';

/** Types of images that can be read. */
const TYPES: ReadonlySet<string | undefined> = new Set(['png', 'jpg', 'webp', 'tiff']);

/** Reads the text of an image by OCR; each page of a TIFF is a page. Throws `no_text` without text. */
export async function* readImage(input: ReaderInput): AsyncGenerator<Extraction> {
  const tasks = await listPages(input);
  const recognition = await recognizePages(input, tasks);
  if (recognition === null) throw noText('The text of an image is read by OCR, which is switched off.');
  const warning = recognitionWarning(recognition, tasks.length);
  if (recognition.pages.size === 0) throw noText(warning?.message ?? 'OCR read no text in the image.');
  const pages = [...recognition.pages].sort(([a], [b]) => a - b).map(([, page]) => page);
  const lines = removeRunningLines(pages).flatMap((page) => page.lines);
  const writer = new TextWriter();
  for (const { kind, text, ...place } of buildBlocks(lines, input.chunkCharacters)) writer.write(kind, text, place);
  const document: ExtractedDocument = { ...writer.finish(), title: null, metadata: { pages: tasks.length } };
  yield { part: '', document: warning === null ? document : { ...document, warnings: [warning] } };
}

/** Reads the header of an image. Throws `invalid_file` for other files, `too_large` for too many pixels. */
export async function checkImage(input: ReaderInput): Promise<void> {
  await listPages(input);
}

async function listPages(input: ReaderInput): Promise<NumberedTask[]> {
  const file = Buffer.from(await readAllBytes(input, MAX_IMAGE_BYTES));
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
