import { globSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSource, type Source } from './source.ts';

/** Root of the repository. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Files that the rules apply to. */
const CODE = ['{src,packages,test,tools,bench,eval}/**/*.{ts,js}', 'console/{src,test}/**/*.{ts,tsx}'];

/** Lists the paths of all code, relative to the root, with `/`, sorted. */
export function codePaths(): string[] {
  return globSync(CODE, {
    cwd: ROOT,
    exclude: ['**/node_modules/**', 'packages/*/dist/**', 'console/src/api/schema.d.ts', 'console/src/api/*values.ts'],
  })
    .map((path) => path.replaceAll('\\', '/'))
    .toSorted();
}

/** Parses all code. */
export function readTree(): Source[] {
  return codePaths().map((path) => parseSource(path, readFileSync(`${ROOT}/${path}`, 'utf8')));
}

/** Lists every folder of `src` with code in it or below it, such as `src/engines/llama`. */
export function sourceFolders(paths: readonly string[]): string[] {
  const folders = new Set<string>();
  for (const path of paths.filter((each) => each.startsWith('src/'))) {
    for (let folder = posix.dirname(path); folder !== 'src'; folder = posix.dirname(folder)) folders.add(folder);
  }
  return [...folders].toSorted();
}

/**
 * Lists the folders in the layout block of a page: the fenced block that starts with `src/`, with two spaces of
 * indentation per level and the folder name with `/` first in its line.
 */
export function layoutFolders(markdown: string): string[] {
  const block = /^```\w*\n(src\/[\s\S]*?)^```/m.exec(markdown)?.[1] ?? '';
  const open: string[] = [];
  const folders: string[] = [];
  for (const line of block.split('\n')) {
    const [, indent = '', name] = /^( *)([\w-]+)\/(?: |$)/.exec(line) ?? [];
    if (name === undefined) continue;
    open.length = indent.length / 2;
    open.push(name);
    if (open.length > 1) folders.push(open.join('/'));
  }
  return folders.toSorted();
}
