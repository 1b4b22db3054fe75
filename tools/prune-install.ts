/**
 * `npm run prune:install` removes from node_modules what Quire never loads, after `npm ci --omit=dev`: sources, headers,
 * type declarations, source maps, and binaries for other machines. Prints a line for each kind with its size. `npm ci` brings everything
 * back. Running it twice changes nothing.
 */
import { existsSync, globSync, lstatSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** Only a development install has it. */
const DEVELOPMENT_PACKAGE = '@biomejs/biome';

/** What is removed: a reason for people, and globs below node_modules. Of several that match a file, the first counts it. */
export function unusedFiles(arch: string): Readonly<Record<string, readonly string[]>> {
  return {
    // Its package allows x64 as well as arm64, so npm installs it on both.
    'llama.cpp for another CPU': [`@node-llama-cpp/linux-${arch === 'arm64' ? 'x64' : 'arm64'}`],
    // A Git repository, to compile llama.cpp from; Quire uses the compiled one.
    'llama.cpp sources': ['node-llama-cpp/llama/gitRelease.bundle'],
    // An optional peer of node-llama-cpp, so `--omit=dev` keeps it.
    TypeScript: ['typescript', '@typescript'],
    'Node headers': ['node/node_modules'],
    // Quire loads legacy/build and cmaps.
    'pdf.js for browsers': ['pdfjs-dist/{build,web,image_decoders}', 'pdfjs-dist/legacy/{web,image_decoders}'],
    // Node does not read them without --enable-source-maps.
    'source maps': ['**/*.{js,cjs,mjs,ts}.map'],
    'type declarations': ['**/*.d.{ts,cts,mts}'],
  };
}

/** Removes unused files below `nodeModules` and returns the bytes freed by each reason. Throws when development packages are there. */
export function pruneInstall(nodeModules: string, arch: string = process.arch): Record<string, number> {
  if (existsSync(join(nodeModules, DEVELOPMENT_PACKAGE))) {
    throw new Error('This is a development install. Run npm ci --omit=dev first.');
  }
  return Object.fromEntries(
    Object.entries(unusedFiles(arch)).map(([reason, patterns]) => {
      const paths = globSync([...patterns], { cwd: nodeModules }).map((path) => join(nodeModules, path));
      const bytes = paths.reduce((sum, path) => sum + sizeBytes(path), 0);
      for (const path of paths) rmSync(path, { recursive: true });
      return [reason, bytes];
    }),
  );
}

/** Apparent size of a file or folder. A file that has a second name elsewhere frees nothing. */
function sizeBytes(path: string): number {
  const stats = lstatSync(path);
  if (!stats.isDirectory()) return stats.nlink === 1 ? stats.size : 0;
  return readdirSync(path).reduce((sum, name) => sum + sizeBytes(join(path, name)), 0);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const freed = pruneInstall(fileURLToPath(new URL('../node_modules', import.meta.url)));
  const megabytes = (bytes: number) => `${(bytes / 1_000_000).toFixed(1).padStart(7)} MB`;
  for (const [reason, bytes] of Object.entries(freed)) console.log(`${megabytes(bytes)}  ${reason}`);
  console.log(`${megabytes(Object.values(freed).reduce((sum, bytes) => sum + bytes, 0))}  removed`);
}
