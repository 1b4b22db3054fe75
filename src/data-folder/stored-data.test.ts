import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { requireNoStoredData } from './stored-data.ts';

describe('requireNoStoredData', () => {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'quire-stored-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  const write = (...names: string[]) => {
    for (const name of names) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), '');
    }
  };
  const require = () => requireNoStoredData(folder, 'the database is missing', ['secrets.key']);

  it('accepts what a first start leaves that did not end: no files of callers, no index', async () => {
    await requireNoStoredData(join(folder, 'none'), 'it is missing');
    write('quire.lock', 'quire.sock', 'blobs/unfinished/0', 'models/a.gguf', 'prefix-cache/m/model.txt');
    mkdirSync(join(folder, 'blobs/ab'));
    write('blobs/00/000000000000c4a1', 'index/marker_01.lance/data');
    await require();
  });

  it('throws, with everything that it found and the ways out, where there is data', async () => {
    for (const [name, found] of [
      ['blobs/ab/ab01', 'blobs'],
      ['index/kb_1.lance/data', 'index'],
      ['secrets.key', 'secrets.key'],
    ] as const) {
      write(name);
      await assert.rejects(
        require(),
        new RegExp(`^OperatorError: .*holds data \\(${found}\\), but the database is missing`),
      );
      rmSync(join(folder, name));
      rmSync(join(folder, dirname(name) === '.' ? name : dirname(name)), { recursive: true, force: true });
    }
    write('blobs/ab/ab01', 'index/kb_1.lance/data', 'secrets.key');
    await assert.rejects(require(), /\(secrets\.key, blobs, index\).*backup.*QUIRE_DATABASE_URL.*QUIRE_DATA_DIR/);
  });
});
