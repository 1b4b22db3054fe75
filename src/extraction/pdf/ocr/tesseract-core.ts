import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { PageBitmap } from '../pdfium.ts';

/** An image in Tesseract's memory, in rows of 32-bit words with the leftmost pixel in the highest bits. */
interface Pix {
  get_w(): number;
  get_h(): number;
  /** Bits per pixel: 1, 2, 4, 8, 16 or 32. */
  get_d(): number;
  /** Colors of the pixels' values: blue, green and red, a byte each, then an unused one. */
  get_colormap(): { get_n(): number; get_array(): number };
  /** Words per row. */
  get_wpl(): number;
  get_data(): number;
}

/** The used part of Tesseract's C++ interface. */
interface TessBaseApi {
  Init(folder: null, languages: string, engineMode: number): number;
  /** `Init` without languages: images are only decoded. */
  InitForAnalysePage(): void;
  SetVariable(name: string, value: string): boolean;
  SetPageSegMode(mode: number): void;
  /** Reads the image `/input`, turned by an EXIF orientation and clockwise by an angle; not 0 when it fails. */
  SetImageFile(orientation: number, radians: number): number;
  GetInputImage(): Pix;
  GetThresholdedImage(): Pix;
  WriteImage(kind: number, path: string): void;
  Recognize(monitor: null): number;
  GetTSVText(page: number): string;
}

interface TesseractModule {
  FS: {
    writeFile(path: string, bytes: Uint8Array): void;
    readFile(path: string): Uint8Array;
    unlink(path: string): void;
  };
  TessBaseAPI: new () => TessBaseApi;
  getValue(pointer: number, type: 'i32'): number;
}

/** Words of a binary image: 32 pixels each, the leftmost in the highest bit. */
export interface BinaryImage {
  width: number;
  height: number;
  wordsPerRow: number;
  words: Uint32Array;
}

/** Tesseract's values: its neural recognizer, page layout without orientation, an image in gray. */
const NEURAL_RECOGNIZER = 1;
const AUTOMATIC_LAYOUT = 3;
const GRAY_IMAGE = 1;

/**
 * Tesseract in WebAssembly: decodes PNG, JPEG, WebP, TIFF and PNM, turns images and recognizes text. Calls block the
 * thread. Takes 60 MB, and for each page up to 8 bytes per pixel.
 */
export class TesseractCore {
  readonly #module: TesseractModule;
  readonly #api: TessBaseApi;

  private constructor(module: TesseractModule, api: TessBaseApi) {
    this.#module = module;
    this.#api = api;
  }

  /**
   * Loads the module with languages, by their codes and the paths of their data, compressed or not. Without any, it
   * only decodes images.
   */
  static async load(languages: ReadonlyMap<string, string>): Promise<TesseractCore> {
    const require = createRequire(import.meta.url);
    const createModule: (
      options: object,
    ) => Promise<TesseractModule> = require('tesseract.js-core/tesseract-core-relaxedsimd-lstm');
    const module = await createModule({ print: () => {}, printErr: () => {} });
    for (const [code, path] of languages) {
      const data = await readFile(path);
      const isCompressed = data[0] === 0x1f && data[1] === 0x8b;
      module.FS.writeFile(`/${code}.traineddata`, isCompressed ? await promisify(gunzip)(data) : data);
    }
    const api = new module.TessBaseAPI();
    if (languages.size === 0) api.InitForAnalysePage();
    else if (api.Init(null, [...languages.keys()].join('+'), NEURAL_RECOGNIZER) !== 0) {
      throw new Error(`Tesseract cannot load its data for ${[...languages.keys()].join(', ')}`);
    }
    for (const code of languages.keys()) module.FS.unlink(`/${code}.traineddata`);
    api.SetPageSegMode(AUTOMATIC_LAYOUT);
    return new TesseractCore(module, api);
  }

  /** Sets the bytes of an image file, which `turn` decodes. */
  setFile(bytes: Uint8Array): void {
    this.#module.FS.writeFile('/input', bytes);
  }

  /** Decodes the file, turned by an EXIF orientation and clockwise by an angle. Throws when it cannot be decoded. */
  turn(orientation: number, radians: number): void {
    if (this.#api.SetImageFile(orientation, radians) !== 0) throw new Error('the image cannot be decoded');
  }

  /** Returns the decoded image in black and white. */
  binarize(): BinaryImage {
    const pix = this.#api.GetThresholdedImage();
    const [width, height, wordsPerRow, data] = [pix.get_w(), pix.get_h(), pix.get_wpl(), pix.get_data()];
    const words = new Uint32Array(wordsPerRow * height);
    for (let i = 0; i < words.length; i++) words[i] = this.#module.getValue(data + 4 * i, 'i32');
    return { width, height, wordsPerRow, words };
  }

  /** Returns the decoded image in color, reduced to at most `maxWidth` and `maxPixels` by averages of its pixels. */
  reduce(maxWidth: number, maxPixels: number): PageBitmap {
    const pix = this.#api.GetInputImage();
    const [columns, rows] = [pix.get_w(), pix.get_h()];
    const scale = Math.min(1, maxWidth / columns, Math.sqrt(maxPixels / (columns * rows)));
    const [width, height] = [columns, rows].map((length) => Math.max(1, Math.round(length * scale))) as [
      number,
      number,
    ];
    const sums = new Float64Array(4 * width * height);
    const readColor = this.#createColorReader(pix);
    for (let y = 0; y < rows; y++) {
      const row = Math.floor((y * height) / rows) * width;
      for (let x = 0; x < columns; x++) {
        const at = 4 * (row + Math.floor((x * width) / columns));
        const color = readColor(x, y);
        sums[at] = (sums[at] as number) + (color >>> 24);
        sums[at + 1] = (sums[at + 1] as number) + ((color >>> 16) & 255);
        sums[at + 2] = (sums[at + 2] as number) + ((color >>> 8) & 255);
        sums[at + 3] = (sums[at + 3] as number) + 1;
      }
    }
    const pixels = new Uint8Array(sums.length);
    for (let i = 0; i < pixels.length; i++) pixels[i] = (sums[i] as number) / (sums[i | 3] as number);
    return { width, height, pixels };
  }

  /** Returns a function that gives the red, green and blue of a pixel, in the high three bytes. */
  #createColorReader(pix: Pix): (x: number, y: number) => number {
    const { getValue } = this.#module;
    const [depth, wordsPerRow, data, colormap] = [pix.get_d(), pix.get_wpl(), pix.get_data(), pix.get_colormap()];
    const readWord = (x: number, y: number) => getValue(data + 4 * (y * wordsPerRow + ((x * depth) >> 5)), 'i32');
    if (depth === 32) return readWord;
    const most = 2 ** depth - 1;
    const grays = Array.from({ length: Math.min(most + 1, 65_536) }, (_, value) => {
      // A set bit of an image in black and white is black.
      const gray = depth === 1 ? 255 * (1 - value) : Math.round((255 * value) / most);
      return gray * 0x01010100;
    });
    const colors = Array.from({ length: colormap.get_n() }, (_, value) => {
      const color = getValue(colormap.get_array() + 4 * value, 'i32');
      return color << 8;
    });
    const palette = colors.length > 0 ? colors : grays;
    return (x, y) => palette[(readWord(x, y) >>> (32 - depth - ((x * depth) & 31))) & most] ?? 0;
  }

  /** Returns the decoded image as a gray PNG. */
  encodePng(): Uint8Array {
    this.#api.WriteImage(GRAY_IMAGE, '/image.png');
    return this.#module.FS.readFile('/image.png');
  }

  /** Recognizes the decoded image. Returns Tesseract's tab-separated values without their header. */
  recognize(dpi: number | null): string {
    this.#api.SetVariable('user_defined_dpi', String(dpi ?? 0));
    this.#api.Recognize(null);
    return this.#api.GetTSVText(0);
  }
}
