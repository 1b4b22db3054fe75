import { createRequire } from 'node:module';
import { dirname } from 'node:path';

/** Warnings that are kept until they are taken: a damaged file may have one for each of its bytes. */
const MAX_WARNINGS = 1_000;
const MAX_WARNING_CHARACTERS = 200;

const PACKAGE = dirname(createRequire(import.meta.url).resolve('pdfjs-dist/package.json'));

/**
 * Where pdf.js finds Adobe's predefined CMaps, by a list of names of its own, never by one that a document invents. They map the character
 * codes of Chinese, Japanese and Korean fonts to Unicode; without them that text is lost.
 *
 * The package's `standard_fonts` are left out: they serve rendering. With them pdf.js takes the glyph numbers of some fonts that are not embedded
 * for characters (7 of 678 files had less text, none had more).
 */
export const CMAPS = { cMapUrl: `${PACKAGE}/cmaps/`, cMapPacked: true };

/**
 * Collects what pdf.js warns of, which goes to the console and nowhere else. It is the console of the whole process, so one document is
 * read at a time; `stop` gives the console back.
 */
export class PdfjsWarnings {
  readonly #warn = console.warn;
  #messages = new Set<string>();

  constructor() {
    console.warn = (message: unknown) => {
      if (this.#messages.size < MAX_WARNINGS) this.#messages.add(String(message).slice(0, MAX_WARNING_CHARACTERS));
    };
  }

  /** The warnings since they were last taken, each once. */
  take(): string[] {
    const messages = [...this.#messages];
    this.#messages = new Set();
    return messages;
  }

  stop(): void {
    console.warn = this.#warn;
  }
}

const { getDocument, PasswordException, VerbosityLevel } = await loadPdfjs();

export { getDocument, PasswordException, VerbosityLevel };

/** Loads the build for Node, which warns that it cannot render. Only text is taken from it. */
async function loadPdfjs(): Promise<typeof import('pdfjs-dist')> {
  const warnings = new PdfjsWarnings();
  try {
    return await import('pdfjs-dist/legacy/build/pdf.mjs');
  } finally {
    warnings.stop();
  }
}
