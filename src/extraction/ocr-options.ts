/** How images and pages without text are read. */
export interface OcrOptions {
  /** `auto`: the system's `tesseract` where it is installed with the languages, otherwise the bundled one. */
  engine: 'auto' | 'bundled' | 'system' | 'off';
  /** Tesseract's language codes, such as `deu`; null: all installed ones. */
  languages: readonly string[] | null;
  /** Folder with further `.traineddata` files; null without one. */
  folder: string | null;
  /** Pages that are read concurrently. */
  threads: number;
}
