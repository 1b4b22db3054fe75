import { createRequire } from 'node:module';
import { dirname } from 'node:path';

const PACKAGE = dirname(createRequire(import.meta.url).resolve('pdfjs-dist/package.json'));

/**
 * Where pdf.js finds Adobe's predefined CMaps, by a list of names of its own, never by one that a document invents. They map the character
 * codes of Chinese, Japanese and Korean fonts to Unicode; without them that text is lost.
 *
 * The package's `standard_fonts` are left out: they serve rendering. With them pdf.js takes the glyph numbers of some fonts that are not embedded
 * for characters (7 of 678 files had less text, none had more).
 */
export const CMAPS = { cMapUrl: `${PACKAGE}/cmaps/`, cMapPacked: true };

const { getDocument, PasswordException } = await loadPdfjs();

export { getDocument, PasswordException };

/** Loads the build for Node, which warns that it cannot render. Only text is taken from it. */
async function loadPdfjs(): Promise<typeof import('pdfjs-dist')> {
  const { warn } = console;
  console.warn = () => undefined;
  try {
    return await import('pdfjs-dist/legacy/build/pdf.mjs');
  } finally {
    console.warn = warn;
  }
}
