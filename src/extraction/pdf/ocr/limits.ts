/** Maximum bytes of an image file: several pages of a TIFF stay in memory while they are read. */
export const MAX_IMAGE_BYTES = 134_217_728;
/** Maximum pixels of an image: a photo of 48 megapixels. Decoding takes up to 8 bytes of memory per pixel. */
export const MAX_IMAGE_PIXELS = 50_000_000;
/** Time limit for a page. A dense page takes 3 to 9 s, upside down twice as long. */
export const PAGE_SECONDS = 120;
/** Maximum pages of a document that are read by OCR; the others are skipped. */
export const MAX_OCR_PAGES = 1_000;
