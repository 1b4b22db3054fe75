/**
 * `npm run build`: writes the package for a registry to `dist/`: JavaScript with types, because Node strips no types
 * below `node_modules`. Publish with `npm publish ./dist`.
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = (path) => fileURLToPath(new URL(path, import.meta.url));

rmSync(folder('dist'), { recursive: true, force: true });
const tsc = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url));
execFileSync(process.execPath, [tsc, '-p', folder('tsconfig.build.json')], { stdio: 'inherit' });
const {
  scripts: _scripts,
  devDependencies: _dependencies,
  files: _files,
  ...manifest
} = JSON.parse(readFileSync(folder('package.json'), 'utf8'));
manifest.exports = { '.': { types: './index.d.ts', default: './index.js' } };
writeFileSync(folder('dist/package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
for (const [from, to] of [
  ['README.md', 'dist/README.md'],
  ['../../LICENSE', 'dist/LICENSE'],
]) {
  copyFileSync(folder(from), folder(to));
}
