import { globSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSource, type Source } from './source.ts';

/** The repository's root. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The folders whose code is held to the rules. */
const CODE = '{src,test,tools,bench,eval}/**/*.{ts,js}';

/** The paths of all code, relative to the root, with `/`, in order. */
function codePaths(): string[] {
  return globSync(CODE, { cwd: ROOT, exclude: ['**/node_modules/**'] })
    .map((path) => path.replaceAll('\\', '/'))
    .toSorted();
}

/** All code, parsed. */
export function readTree(): Source[] {
  return codePaths().map((path) => parseSource(path, readFileSync(`${ROOT}/${path}`, 'utf8')));
}

/** Every folder of `src` that holds code, itself or further down, such as `src/engines/llama`. */
export function sourceFolders(paths: readonly string[]): string[] {
  const folders = new Set<string>();
  for (const path of paths.filter((each) => each.startsWith('src/'))) {
    for (let folder = posix.dirname(path); folder !== 'src'; folder = posix.dirname(folder)) folders.add(folder);
  }
  return [...folders].toSorted();
}

/**
 * The folders that a page's layout block names: the fenced block that begins with `src/`, two spaces of indentation a
 * level, the name with a `/` first in its line.
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
