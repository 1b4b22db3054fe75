import { createRequire } from 'node:module';
import { dirname } from 'node:path';

/** Maximum distinct warnings: a damaged file may cause one per byte. */
const MAX_WARNINGS = 1_000;
const MAX_WARNING_CHARACTERS = 200;

const PACKAGE = dirname(createRequire(import.meta.url).resolve('pdfjs-dist/package.json'));

/**
 * Location of Adobe's predefined CMaps, which map the character codes of Chinese, Japanese and Korean fonts to Unicode.
 * pdf.js loads them by names of its own list, never by a name from a document.
 *
 * Without the package's `standard_fonts`, which serve rendering: with them, pdf.js returns glyph numbers of some fonts
 * as characters (7 of 678 files had less text, none had more).
 */
export const CMAPS = { cMapUrl: `${PACKAGE}/cmaps/`, cMapPacked: true };

/**
 * Collects the warnings of pdf.js, which it only prints with `console.warn`. Replaces that function for the whole
 * process until `stop`, so only one document may be read at a time.
 */
export class PdfjsWarnings {
  readonly #warn = console.warn;
  #messages = new Set<string>();

  constructor() {
    console.warn = (message: unknown) => {
      if (this.#messages.size < MAX_WARNINGS) this.#messages.add(String(message).slice(0, MAX_WARNING_CHARACTERS));
    };
  }

  /** Returns and clears the distinct warnings. */
  take(): string[] {
    const messages = [...this.#messages];
    this.#messages = new Set();
    return messages;
  }

  /** Restores `console.warn`. */
  stop(): void {
    console.warn = this.#warn;
  }
}

const { getDocument, PasswordException, VerbosityLevel } = await loadPdfjs();

export { getDocument, PasswordException, VerbosityLevel };

/** Loads the build for Node without its warning that rendering is unavailable. */
async function loadPdfjs(): Promise<typeof import('pdfjs-dist')> {
  const warnings = new PdfjsWarnings();
  try {
    return await import('pdfjs-dist/legacy/build/pdf.mjs');
  } finally {
    warnings.stop();
  }
}
