import type { DocumentMetadata } from '../document-metadata.ts';
import type { ReaderInput } from '../extracted-document.ts';
import { invalidFile } from '../limits.ts';
import { readProperties, withArchive } from './office-package.ts';
import { readXml, type XmlHandlers } from './xml.ts';

/** Kinds of OpenDocument files: the element that `office:body` contains. */
export type OpenDocumentKind = 'spreadsheet' | 'presentation' | 'text';

/**
 * Parses the content of an OpenDocument file. `openStyle` receives the elements of the definitions before it. Returns
 * whether the content is complete. Throws `invalid_file` for other kinds, `encrypted_file` when it needs a password.
 */
export async function readOpenDocument(
  input: ReaderInput,
  kind: OpenDocumentKind,
  handlers: XmlHandlers,
  openStyle?: XmlHandlers['open'],
): Promise<{ isComplete: boolean; metadata: DocumentMetadata }> {
  return withArchive(input, async (archive) => {
    let isInBody = false;
    let hasContent = false;
    if (openStyle !== undefined) await readXml(archive.read('styles.xml'), { open: openStyle });
    const isComplete = await readXml(archive.read('content.xml'), {
      open: (name, attributes) => {
        if (name === kind && isInBody) hasContent = true;
        else if (hasContent) handlers.open(name, attributes);
        else openStyle?.(name, attributes);
        isInBody = name === 'body';
      },
      close: (name) => {
        if (hasContent) handlers.close?.(name);
      },
      text: (text) => {
        if (hasContent) handlers.text?.(text);
      },
    });
    if (!hasContent) throw invalidFile(`The archive does not contain an OpenDocument ${kind}.`);
    return { isComplete, metadata: await readProperties(archive, 'meta.xml') };
  });
}

/** Parses the content of an OpenDocument file without keeping it. */
export async function checkOpenDocument(input: ReaderInput, kind: OpenDocumentKind): Promise<void> {
  await readOpenDocument(input, kind, { open: () => {} });
}
