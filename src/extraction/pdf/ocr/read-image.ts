import { readAllBytes } from '../../content.ts';
import type { ExtractedDocument, Extraction, ReaderInput } from '../../extracted-document.ts';
import { noText } from '../../limits.ts';
import { TextWriter } from '../../text-writer.ts';
import { buildBlocks } from '../paragraphs.ts';
import { removeRunningLines } from '../running-lines.ts';
import { MAX_IMAGE_BYTES } from './limits.ts';
import { listImagePages } from './list-image-pages.ts';
import { recognitionWarning, recognizePages } from './recognize-pages.ts';
import { boxText } from './text-boxes.ts';

/** Reads the text of an image by OCR; each page of a TIFF is a page. Throws `no_text` without text. */
export async function* readImage(input: ReaderInput): AsyncGenerator<Extraction> {
  const tasks = await readPageList(input);
  const recognition = await recognizePages(input, tasks);
  if (recognition === null) throw noText('The text of an image is read by OCR, which is switched off.');
  const warning = recognitionWarning(recognition, tasks.length);
  if (recognition.pages.size === 0) throw noText(warning?.message ?? 'OCR read no text in the image.');
  const pages = [...recognition.pages].sort(([a], [b]) => a - b).map(([, page]) => page);
  const lines = removeRunningLines(pages).flatMap((page) => page.lines);
  const writer = new TextWriter();
  for (const { kind, text, ...place } of buildBlocks(lines, input.chunkCharacters)) writer.write(kind, text, place);
  const text = writer.finish();
  const boxes = boxText(text, recognition.pages);
  const document: ExtractedDocument = { ...text, boxes, title: null, metadata: { pages: tasks.length } };
  yield { part: '', document: warning === null ? document : { ...document, warnings: [warning] } };
}

/** Reads the header of an image. Throws `invalid_file` for other files, `too_large` for too many pixels. */
export async function checkImage(input: ReaderInput): Promise<void> {
  await readPageList(input);
}

async function readPageList(input: ReaderInput) {
  return listImagePages(Buffer.from(await readAllBytes(input, MAX_IMAGE_BYTES)));
}
