import { closeSync, openSync, readSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { init, type WrappedPdfiumModule } from '@embedpdf/pdfium';
import type { ReaderInput } from '../extracted-document.ts';
import { invalidFile } from '../limits.ts';

/** Pixels of a rendered page: rows from top to bottom without padding. */
export interface PageBitmap {
  width: number;
  height: number;
  /** One byte per pixel of a gray page, otherwise four: red, green, blue, alpha. */
  pixels: Uint8Array;
}

/** A rectangle in pixels from the upper left corner. */
export interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** A character of a page with its box; empty for white space that pdfium has inserted. */
export interface PageCharacter extends Box {
  text: string;
}

/** What the images of a page cover, without those inside forms. */
export interface PageImages {
  /** Share of the page's area, at most 1. */
  coverage: number;
  /** Pixels of the largest image. */
  pixels: number;
}

/** Values of pdfium's `FPDFBitmap_*`, `FPDF_RenderPageBitmap` and `FPDF_PAGEOBJ_*`. */
const BITMAP = { gray: 1, color: 4 };
const RENDER = { annotations: 0x01, grayscale: 0x08, redFirst: 0x10 };
const IMAGE_OBJECT = 3;
const WHITE = 0xffffffff;
/** Objects of a page among which images are searched: scans have few. */
const MAX_OBJECTS = 1_000;
/** Maximum characters read of a page; a full newspaper page has 50,000. */
const MAX_CHARACTERS = 200_000;

let library: Promise<WrappedPdfiumModule> | null = null;

/** Loads the WebAssembly module, once per thread: 35 ms and 20 MB. */
function loadPdfium(): Promise<WrappedPdfiumModule> {
  library ??= (async () => {
    const wasm = await readFile(fileURLToPath(import.meta.resolve('@embedpdf/pdfium/pdfium.wasm')));
    const pdfium = await init({ wasmBinary: wasm.buffer });
    pdfium.PDFiumExt_Init();
    return pdfium;
  })();
  return library;
}

/** A PDF that pdfium renders. Reads the file in blocks, so the document need not fit into WebAssembly's memory. */
export class PdfiumDocument {
  readonly #pdfium: WrappedPdfiumModule;
  readonly #document: number;
  readonly #release: () => void;

  private constructor(pdfium: WrappedPdfiumModule, document: number, release: () => void) {
    this.#pdfium = pdfium;
    this.#document = document;
    this.#release = release;
  }

  /** Throws `invalid_file` when pdfium cannot open the file. */
  static async open({ content, bytes }: Pick<ReaderInput, 'content' | 'bytes'>): Promise<PdfiumDocument> {
    const pdfium = await loadPdfium();
    const { HEAPU8, HEAP32, wasmExports, addFunction, removeFunction } = runtime(pdfium);
    const file = 'path' in content ? openSync(content.path, 'r') : null;
    const readBlock = (_: number, position: number, target: number, size: number): number => {
      const block = HEAPU8().subarray(target, target + size);
      if ('path' in content) return readSync(file ?? -1, block, { position }) === size ? 1 : 0;
      block.set(content.subarray(position, position + size));
      return position + size <= content.length ? 1 : 0;
    };
    // struct FPDF_FILEACCESS: length, callback, parameter of the callback.
    const access = wasmExports.malloc(12);
    const callback = addFunction(readBlock, 'iiiii');
    HEAP32().set([bytes, callback, 0], access >> 2);
    const release = () => {
      removeFunction(callback);
      wasmExports.free(access);
      if (file !== null) closeSync(file);
    };
    const document = pdfium.FPDF_LoadCustomDocument(access, '');
    if (document !== 0) return new PdfiumDocument(pdfium, document, release);
    release();
    throw invalidFile('The file is damaged or not a PDF.', `pdfium error ${pdfium.FPDF_GetLastError()}`);
  }

  /** Number of pages. */
  get pageCount(): number {
    return this.#pdfium.FPDF_GetPageCount(this.#document);
  }

  /** Returns width and height of a page (from 1) in points, as displayed. */
  pageSize(number: number): { width: number; height: number } {
    return this.#usePage(number, (page) => this.#size(page));
  }

  /** Renders a page (from 1) on white, with its annotations. */
  renderPage(number: number, { pixelsPerPoint, isGray }: { pixelsPerPoint: number; isGray: boolean }): PageBitmap {
    const pdfium = this.#pdfium;
    return this.#usePage(number, (page) => {
      const size = this.#size(page);
      const width = Math.max(1, Math.round(size.width * pixelsPerPoint));
      const height = Math.max(1, Math.round(size.height * pixelsPerPoint));
      const bitmap = pdfium.FPDFBitmap_CreateEx(width, height, isGray ? BITMAP.gray : BITMAP.color, 0, 0);
      if (bitmap === 0) throw new Error(`pdfium has no memory for ${width} × ${height} pixels`);
      try {
        const flags = RENDER.annotations | (isGray ? RENDER.grayscale : RENDER.redFirst);
        pdfium.FPDFBitmap_FillRect(bitmap, 0, 0, width, height, WHITE);
        pdfium.FPDF_RenderPageBitmap(bitmap, page, 0, 0, width, height, 0, flags);
        return { width, height, pixels: this.#copyRows(bitmap, isGray ? width : 4 * width, height) };
      } finally {
        pdfium.FPDFBitmap_Destroy(bitmap);
      }
    });
  }

  /** Returns the characters of a page (from 1), with boxes on its rendering of `width` by `height` pixels. */
  pageCharacters(number: number, { width, height }: Pick<PageBitmap, 'width' | 'height'>): PageCharacter[] {
    const pdfium = this.#pdfium;
    const { HEAPF32, HEAP32, wasmExports } = runtime(pdfium);
    return this.#usePage(number, (page) => {
      const text = pdfium.FPDFText_LoadPage(page);
      // An FS_RECTF: left, top, right, bottom. The first two places take the device coordinates afterwards.
      const out = wasmExports.malloc(16);
      const toPixels = (x: number, y: number): readonly [number, number] => {
        pdfium.FPDF_PageToDevice(page, 0, 0, width, height, 0, x, y, out, out + 4);
        const [left = 0, top = 0] = HEAP32().subarray(out >> 2, (out >> 2) + 2);
        return [left, top];
      };
      try {
        const count = Math.min(MAX_CHARACTERS, Math.max(0, pdfium.FPDFText_CountChars(text)));
        return Array.from({ length: count }, (_, i) => {
          const code = pdfium.FPDFText_GetUnicode(text, i);
          const isKnown = pdfium.FPDFText_GetLooseCharBox(text, i, out);
          const [x0 = 0, y0 = 0, x1 = 0, y1 = 0] = isKnown ? HEAPF32().slice(out >> 2, (out >> 2) + 4) : [];
          // The page may be rotated.
          const [[ax, ay], [bx, by]] = [toPixels(x0, y0), toPixels(x1, y1)];
          const box = {
            left: Math.min(ax, bx),
            top: Math.min(ay, by),
            right: Math.max(ax, bx),
            bottom: Math.max(ay, by),
          };
          return { text: code <= 0x10ffff ? String.fromCodePoint(code) : '', ...box };
        });
      } finally {
        wasmExports.free(out);
        pdfium.FPDFText_ClosePage(text);
      }
    });
  }

  /** Measures the images of a page (from 1). */
  pageImages(number: number): PageImages {
    const pdfium = this.#pdfium;
    const { HEAPF32, HEAP32, wasmExports } = runtime(pdfium);
    return this.#usePage(number, (page) => {
      const { width, height } = this.#size(page);
      const out = wasmExports.malloc(16);
      const images = { coverage: 0, pixels: 0 };
      for (let i = 0; i < Math.min(MAX_OBJECTS, pdfium.FPDFPage_CountObjects(page)); i++) {
        const object = pdfium.FPDFPage_GetObject(page, i);
        if (pdfium.FPDFPageObj_GetType(object) !== IMAGE_OBJECT) continue;
        if (pdfium.FPDFPageObj_GetBounds(object, out, out + 4, out + 8, out + 12)) {
          const [left = 0, bottom = 0, right = 0, top = 0] = HEAPF32().subarray(out >> 2, (out >> 2) + 4);
          images.coverage = Math.min(1, images.coverage + ((right - left) * (top - bottom)) / (width * height));
        }
        if (pdfium.FPDFImageObj_GetImagePixelSize(object, out, out + 4)) {
          const [columns = 0, rows = 0] = HEAP32().subarray(out >> 2, (out >> 2) + 2);
          images.pixels = Math.max(images.pixels, columns * rows);
        }
      }
      wasmExports.free(out);
      return images;
    });
  }

  /** Releases the document and its file. */
  close(): void {
    this.#pdfium.FPDF_CloseDocument(this.#document);
    this.#release();
  }

  #usePage<T>(number: number, use: (page: number) => T): T {
    const page = this.#pdfium.FPDF_LoadPage(this.#document, number - 1);
    if (page === 0) throw new Error(`pdfium cannot read page ${number}`);
    try {
      return use(page);
    } finally {
      this.#pdfium.FPDF_ClosePage(page);
    }
  }

  #size(page: number): { width: number; height: number } {
    return { width: this.#pdfium.FPDF_GetPageWidthF(page), height: this.#pdfium.FPDF_GetPageHeightF(page) };
  }

  #copyRows(bitmap: number, rowBytes: number, rows: number): Uint8Array {
    const start = this.#pdfium.FPDFBitmap_GetBuffer(bitmap);
    const stride = this.#pdfium.FPDFBitmap_GetStride(bitmap);
    const heap = runtime(this.#pdfium).HEAPU8();
    const pixels = new Uint8Array(rowBytes * rows);
    for (let row = 0; row < rows; row++) {
      pixels.set(heap.subarray(start + row * stride, start + row * stride + rowBytes), row * rowBytes);
    }
    return pixels;
  }
}

/** The parts of Emscripten's runtime that are used. The views change whenever the memory grows. */
function runtime({ pdfium }: WrappedPdfiumModule) {
  const heaps = pdfium as unknown as { HEAPU8: Uint8Array<ArrayBuffer>; HEAP32: Int32Array; HEAPF32: Float32Array };
  const { wasmExports, addFunction, removeFunction } = pdfium;
  return {
    wasmExports,
    addFunction,
    removeFunction,
    HEAPU8: () => heaps.HEAPU8,
    HEAP32: () => heaps.HEAP32,
    HEAPF32: () => heaps.HEAPF32,
  };
}
