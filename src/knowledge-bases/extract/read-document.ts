import { truncateDocument } from './bounded-document.ts';
import { noText } from './bounds.ts';
import type { ReadJob, ReadPart } from './extracted-document.ts';
import type { DocumentFormat } from './formats.ts';

type Reader = (job: ReadJob) => AsyncGenerator<ReadPart>;

/** What reads each format, loaded when the first document of it comes. */
const READERS: Readonly<Record<DocumentFormat, () => Promise<Reader>>> = {
  pdf: async () => (await import('./pdf/read-pdf.ts')).readPdf,
  docx: async () => (await import('./docx/read-docx.ts')).readDocx,
  html: async () => (await import('./html/read-html.ts')).readHtml,
  markdown: async () => (await import('./read-markdown.ts')).readMarkdown,
  csv: async () => (await import('./read-csv.ts')).readCsv,
  text: async () => (await import('./read-text.ts')).readText,
  'json-lines': async () => (await import('./read-json-lines.ts')).readJsonLines,
};

/**
 * The documents of a file, at least one, one after the other: a part that has no text is an error of that part. Throws an
 * `IngestionError` for what is wrong with the file, and whatever a reader meets in a damaged one.
 */
export async function* readDocument(format: DocumentFormat, job: ReadJob): AsyncGenerator<ReadPart> {
  const read = await READERS[format]();
  let hasParts = false;
  for await (const part of read(job)) {
    hasParts = true;
    yield bounded(part);
  }
  if (!hasParts) yield { part: '', error: noText() };
}

function bounded(part: ReadPart): ReadPart {
  if ('error' in part) return part;
  const { document, ...place } = part;
  // Not `trim`: it would copy a long text to see whether it is blank.
  return /\S/.test(document.text) ? { ...place, document: truncateDocument(document) } : { ...place, error: noText() };
}
