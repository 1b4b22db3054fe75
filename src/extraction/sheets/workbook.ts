import type { DocumentMetadata } from '../document-metadata.ts';
import type { DocumentWarning } from '../document-warning.ts';
import type { Extraction } from '../extracted-document.ts';
import { noText } from '../limits.ts';
import { readSheet, type Sheet } from './sheet-layout.ts';

/** A workbook that has been read. */
export interface Workbook {
  sheets: readonly Sheet[];
  metadata: DocumentMetadata;
  warnings: DocumentWarning[];
}

/**
 * Yields one document for each sheet with text, named after the sheet unless it is the only one; several documents
 * for a long sheet. Throws `no_text` without any.
 */
export function* yieldSheets({ sheets, metadata, warnings }: Workbook, chunkCharacters: number): Generator<Extraction> {
  const names = new Set<string>();
  const all = sheets.map((sheet, i) => {
    const name = sheet.name === '' || names.has(sheet.name) ? `${sheet.name || 'Sheet'} ${i + 1}` : sheet.name;
    names.add(name);
    return { name, documents: readSheet({ ...sheet, name }, chunkCharacters) };
  });
  const filled = all.filter(({ documents }) => documents.length > 0);
  if (filled.length === 0) throw noText();
  for (const { name, documents } of filled) {
    for (const extraction of documents) {
      if ('error' in extraction) {
        yield extraction;
        continue;
      }
      // A long sheet has several documents, named after their first rows.
      const row = documents.length === 1 ? '' : extraction.part;
      const part = [filled.length === 1 ? '' : name, row].filter((one) => one !== '').join('-');
      const document = { ...extraction.document, title: name, metadata, ...(warnings.length > 0 && { warnings }) };
      yield { part, document };
    }
  }
}
