import type { DocumentWarning } from '../../document-warning.ts';
import type { ReaderInput } from '../../extracted-document.ts';
import { orderLines } from '../order-lines.ts';
import type { PageLines } from '../running-lines.ts';
import { selectOcrEngine } from './ocr-engine.ts';
import type { PageTask } from './ocr-thread.ts';
import { recognizeInThreads } from './ocr-threads.ts';
import type { RecognizedPage } from './recognized-page.ts';

/** A page to read, with its number in the document. */
export type NumberedTask = PageTask & { page: number };

/** What OCR read of a document. */
export interface Recognition {
  /** Pages with words, by their number. */
  pages: ReadonlyMap<number, PageLines & RecognizedPage>;
  /** Why pages were skipped, by their number. */
  skipped: ReadonlyMap<number, string>;
}

const NOTHING: Recognition = { pages: new Map(), skipped: new Map() };

/** Reads pages by OCR. Returns null when OCR is off. */
export async function recognizePages(input: ReaderInput, tasks: readonly NumberedTask[]): Promise<Recognition | null> {
  const { ocr, onPage = () => {} } = input;
  const engine = ocr === undefined ? null : await selectOcrEngine(ocr);
  if (ocr === undefined || engine === null) return null;
  if (tasks.length === 0) return NOTHING;
  const data = { input: { content: input.content, bytes: input.bytes }, engine };
  const replies = await recognizeInThreads(data, tasks, { threads: ocr.threads, onPage });
  const recognition = { pages: new Map(), skipped: new Map() };
  for (const [index, { page }] of tasks.entries()) {
    const reply = replies[index] ?? { page: null };
    if ('error' in reply) recognition.skipped.set(page, reply.error);
    else if (reply.page !== null && reply.page.words > 0) {
      recognition.pages.set(page, { ...reply.page, lines: orderLines(reply.page.pieces, page) });
    }
  }
  return recognition;
}

/** Returns the warning of a document that OCR read, in whole or in part; null for others. */
export function recognitionWarning({ pages, skipped }: Recognition, total: number): DocumentWarning | null {
  const words = [...pages.values()].reduce((sum, page) => sum + page.words, 0);
  const confidence = [...pages.values()].reduce((sum, page) => sum + page.words * page.confidence, 0) / words;
  const [[number, reason] = []] = skipped;
  const sentences = [
    pages.size > 0
      ? `${pages.size} of ${total} pages were read by OCR, with a mean confidence of ${Math.round(confidence)} %.`
      : '',
    skipped.size > 0 ? `${skipped.size} of ${total} pages were skipped, such as page ${number}: ${reason}.` : '',
  ].filter((sentence) => sentence !== '');
  return sentences.length === 0 ? null : { code: 'text_recognized', message: sentences.join(' ') };
}
