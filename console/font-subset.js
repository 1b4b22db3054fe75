import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import subsetFont from 'subset-font';

const LATIN = '@fontsource-variable/inter/files/inter-latin-wght-normal.woff2';
/** Features that `console.css` selects, and kerning. */
const FEATURES = ['kern', 'tnum', 'cv05'];
/** Weights of the console: text to bold. */
const WEIGHTS = { min: 400, max: 700 };
const RANGE = /U\+([\dA-F]+)(?:-([\dA-F]+))?/g;

/** Writes `inter-subset.woff2` into the folder: the characters in the `unicode-range` of its `inter.css`. */
export async function writeFontSubset(folder) {
  const ranges = [...readFileSync(join(folder, 'inter.css'), 'utf8').matchAll(RANGE)];
  const codes = ranges.flatMap(([, first, last = first]) => {
    const start = Number.parseInt(first, 16);
    return Array.from({ length: Number.parseInt(last, 16) - start + 1 }, (_, index) => start + index);
  });
  const font = readFileSync(createRequire(import.meta.url).resolve(LATIN));
  const options = { targetFormat: 'woff2', keepFeatures: FEATURES, variationAxes: { wght: WEIGHTS } };
  writeFileSync(join(folder, 'inter-subset.woff2'), await subsetFont(font, String.fromCodePoint(...codes), options));
}
