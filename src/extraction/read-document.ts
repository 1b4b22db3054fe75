import type { Extraction, ReaderInput } from './extracted-document.ts';
import type { DocumentFormat } from './formats.ts';
import { noText } from './limits.ts';
import { truncateDocument } from './truncate-document.ts';

type Reader = (input: ReaderInput) => AsyncGenerator<Extraction>;

/** Readers by format, imported when first needed. */
const READERS: Readonly<Record<DocumentFormat, () => Promise<Reader>>> = {
  pdf: async () => (await import('./pdf/read-pdf.ts')).readPdf,
  docx: async () => (await import('./docx/read-docx.ts')).readDocx,
  html: async () => (await import('./html/read-html.ts')).readHtml,
  markdown: async () => (await import('./read-markdown.ts')).readMarkdown,
  csv: async () => (await import('./read-csv.ts')).readCsv,
  ods: async () => (await import('./read-ods.ts')).readOds,
  text: async () => (await import('./read-text.ts')).readPlainText,
  jsonl: async () => (await import('./read-jsonl.ts')).readJsonl,
};

/** Checks by format; files of other formats can always be read. */
const CHECKS: Partial<Record<DocumentFormat, () => Promise<(input: ReaderInput) => Promise<void>>>> = {
  pdf: async () => (await import('./pdf/read-pdf.ts')).checkPdf,
  docx: async () => (await import('./docx/read-docx.ts')).checkDocx,
};

/**
 * Yields the documents of a file, at least one; a part without text yields an error for that part. Throws an
 * `IngestionError` for errors of the whole file, and any error of a parser on a damaged one. A check yields nothing, and throws only errors that reading would.
 */
export async function* readDocument(format: DocumentFormat, input: ReaderInput): AsyncGenerator<Extraction> {
  if (input.isCheck) return (await CHECKS[format]?.())?.(input);
  const read = await READERS[format]();
  let isEmpty = true;
  for await (const extraction of read(input)) {
    isEmpty = false;
    yield limitExtraction(extraction);
  }
  if (isEmpty) yield { part: '', error: noText() };
}

function limitExtraction(extraction: Extraction): Extraction {
  if ('error' in extraction) return extraction;
  const { document, ...place } = extraction;
  // A search, because `trim` would copy a long text to find out whether it is blank.
  return /\S/.test(document.text) ? { ...place, document: truncateDocument(document) } : { ...place, error: noText() };
}
