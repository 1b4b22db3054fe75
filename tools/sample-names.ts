/**
 * Prints random comments and exported names of the tree, for a review by the two tests of CONTRIBUTING.md (grep test,
 * read-aloud test).
 * Usage: node tools/sample-names.ts [SEED] [PATH_PREFIX]. Deterministic for a seed and a tree.
 */
import { lineAt, type Source } from '../test/architecture/source.ts';
import { readTree } from '../test/architecture/tree.ts';

const COMMENTS = 50;
const NAMES = 20;

/** Comments that are instructions to tools, not text. */
const DIRECTIVE = /^\W*(biome-ignore|eslint-|@ts-|#!)/;
const EXPORTED =
  /^export (?:declare )?(?:abstract |async )?(?:const|let|function\*?|class|interface|type|enum) (\w+)/gm;

/** Mulberry32, a generator of uniform numbers in [0, 1). */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Returns `count` random items, without repetition. */
function sample<T>(items: readonly T[], count: number, random: () => number): T[] {
  const pool = [...items];
  return Array.from(
    { length: Math.min(count, pool.length) },
    () => pool.splice(Math.floor(random() * pool.length), 1)[0] as T,
  );
}

function listComments(source: Source): string[] {
  return source.comments
    .filter(({ value }) => !DIRECTIVE.test(value) && value.trim() !== '')
    .map(({ value, start }) => {
      const text = value
        .replaceAll(/\s*\n\s*\*?\s*/g, ' ')
        .replace(/^\*?\s*/, '')
        .trim();
      return `${source.path}:${lineAt(source, start)} ${text}`;
    });
}

function listNames(source: Source): string[] {
  return [...source.text.matchAll(EXPORTED)].map(
    ({ 1: name, index }) => `${source.path}:${lineAt(source, index)} ${name}`,
  );
}

const [seed = '1', prefix = ''] = process.argv.slice(2);
const random = createRandom(Number(seed));
const sources = readTree().filter(({ path }) => path.startsWith(prefix));
for (const line of sample(sources.flatMap(listComments), COMMENTS, random)) console.log(line);
console.log();
for (const line of sample(sources.flatMap(listNames), NAMES, random)) console.log(line);
