/**
 * Builds the console into `console/dist`: API types and values from docs/openapi.json, the font, the Vite build, the guide,
 * and precompressed copies of each file. `npm ci` runs it (`prepare`), and `npm prune --omit=dev` then removes its
 * packages. Without them, as in `npm ci --omit=dev`, it does nothing: images copy the build.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { writeValues } from './api-values.js';

const FOLDER = fileURLToPath(new URL('.', import.meta.url));
/** Smaller files gain less than a packet. */
const MIN_COMPRESSED_BYTES = 1_024;

const findBin = (path) =>
  [FOLDER, join(FOLDER, '..')].map((root) => join(root, 'node_modules', path)).find((file) => existsSync(file));

const vite = findBin('vite/bin/vite.js');
const openapi = findBin('openapi-typescript/bin/cli.js');
if (vite === undefined || openapi === undefined) {
  console.log(
    'The console is not built: its packages are not installed. Install with npm ci, then run npm prune --omit=dev.',
  );
  process.exit(0);
}

const description = JSON.parse(readFileSync(join(FOLDER, '../docs/openapi.json'), 'utf8'));
for (const [name, text] of Object.entries(writeValues(description))) writeFileSync(join(FOLDER, 'src/api', name), text);
run(openapi, '../docs/openapi.json', '--output', 'src/api/schema.d.ts', '--default-non-nullable=false');
if (!process.argv.includes('--types')) {
  // Its package is not installed where the build returned above.
  const { writeFontSubset } = await import('./font-subset.js');
  await writeFontSubset(join(FOLDER, 'src/ui'));
  run(vite, 'build', '--logLevel', 'warn');
  run('../tools/guide/build.ts');
  for (const file of globSync('dist/**/*.{js,css,html,svg,json}', { cwd: FOLDER })) compress(join(FOLDER, file));
}

function run(script, ...args) {
  const { status } = spawnSync(process.execPath, [script, ...args], { cwd: FOLDER, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

function compress(file) {
  const content = readFileSync(file);
  if (content.length < MIN_COMPRESSED_BYTES) return;
  const quality = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY };
  writeFileSync(`${file}.br`, brotliCompressSync(content, { params: quality }));
  writeFileSync(`${file}.gz`, gzipSync(content, { level: 9 }));
}
