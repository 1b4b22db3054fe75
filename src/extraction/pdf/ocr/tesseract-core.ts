import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';

/** An image in Tesseract's memory: one bit per pixel, set where it is dark, in rows of 32-bit words. */
interface Pix {
  get_w(): number;
  get_h(): number;
  /** Words per row. */
  get_wpl(): number;
  get_data(): number;
}

/** The used part of Tesseract's C++ interface. */
interface TessBaseApi {
  Init(folder: null, languages: string, engineMode: number): number;
  SetVariable(name: string, value: string): boolean;
  SetPageSegMode(mode: number): void;
  /** Reads the image `/input`, turned by an EXIF orientation and clockwise by an angle; not 0 when it fails. */
  SetImageFile(orientation: number, radians: number): number;
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

  /** Loads the module with languages, by their codes and the paths of their data, compressed or not. */
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
    if (api.Init(null, [...languages.keys()].join('+'), NEURAL_RECOGNIZER) !== 0) {
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
