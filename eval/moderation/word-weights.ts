import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readGzipText } from '../../bench/harness/data-set.ts';

const FILE = 'teachers/alt-profanity-check/model.json.gz';

interface Classifier {
  weights: number[];
  intercept: number;
  calibration_a: number;
  calibration_b: number;
}

interface Model {
  vocabulary: string[];
  idf: number[];
  classifiers: Classifier[];
}

/**
 * A public linear model for comparison (alt-profanity-check, with one score for all categories), computed as its card
 * in the data folder specifies; null when the folder has no such file.
 */
export function readWordWeights(data: string): ((text: string) => number) | null {
  if (!existsSync(join(data, FILE))) return null;
  const model = JSON.parse(readGzipText(data, FILE)) as Model;
  const places = new Map(model.vocabulary.map((word, at) => [word, at]));
  return (text) => scoreOf(text, places, model);
}

function scoreOf(text: string, places: ReadonlyMap<string, number>, { idf, classifiers }: Model): number {
  const values = new Map<number, number>();
  for (const [word] of text.toLowerCase().matchAll(/(?<![\p{L}\p{N}_])[\p{L}\p{N}_]{2,}/gu)) {
    const at = places.get(word);
    if (at !== undefined) values.set(at, (values.get(at) ?? 0) + (idf[at] ?? 0));
  }
  const length = Math.sqrt([...values.values()].reduce((sum, value) => sum + value * value, 0)) || 1;
  const chances = classifiers.map(({ weights, intercept, calibration_a: a, calibration_b: b }) => {
    let sum = intercept;
    for (const [at, value] of values) sum += ((weights[at] ?? 0) * value) / length;
    return 1 / (1 + Math.exp(a * sum + b));
  });
  return chances.reduce((sum, chance) => sum + chance, 0) / chances.length;
}
