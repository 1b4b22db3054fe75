import assert from 'node:assert/strict';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { isQuireEntry } from './entries.ts';
import { explainSharing, prepareDataFolder } from './prepare.ts';

const SURROUNDINGS = { home: '/home/ada', temporary: '/tmp', program: '/opt/quire' };
const folder = (name: string) => ({ name, isDirectory: () => true });
const file = (name: string) => ({ name, isDirectory: () => false });

/** Result of `explainSharing` for a folder with mode 0755. */
const why = (path: string, entries: ReturnType<typeof folder>[] = [], mode = 0o40755) =>
  explainSharing(path, { mode }, entries, SURROUNDINGS);

describe('explainSharing', () => {
  it('accepts a folder that is empty, holds files only, or holds what Quire creates', () => {
    assert.equal(why('/srv/quire'), null);
    assert.equal(why('/srv/quire', [], 0o41777), null);
    assert.equal(why('/srv/quire', [folder('lost+found'), folder('.snapshots')]), null);
    assert.equal(why('/srv/quire', [file('quire.yaml'), file('chat.gguf'), folder('models')]), null);
    assert.equal(why('/srv/quire', [folder('postgres'), folder('postgres.new'), folder('tmp'), folder('blobs')]), null);
  });

  it('accepts an earlier data folder with folders of others in it, even a home folder of nobody else', () => {
    assert.equal(why('/srv/quire', [file('secrets.key'), folder('backup')]), null);
    assert.equal(why('/home/ada', [file('secrets.key'), folder('.npm')]), null);
    assert.equal(why('/home/ada'), null);
  });

  it('rejects folders of the machine, whatever they hold', () => {
    const traces = [file('secrets.key')];
    assert.match(why('/', traces) ?? '', /root of a file system/);
    assert.match(why('/tmp', traces) ?? '', /temporary files/);
    for (const path of ['/tmp', '/var/tmp', '/dev/shm']) assert.match(why(path) ?? '', /temporary files/);
    assert.match(why('/srv/scratch', [file('x')], 0o41777) ?? '', /temporary files/);
    assert.match(why('/opt/quire', traces) ?? '', /folder of the program/);
    assert.match(why('/home/ada', [...traces, folder('Documents')]) ?? '', /home folder/);
    assert.match(why('/home/ada', [file('.bashrc')]) ?? '', /home folder/);
  });

  it('rejects a folder that holds folders of other programs', () => {
    assert.match(why('/srv', [folder('db'), folder('tmp'), folder('www')]) ?? '', /'www', which Quire does not know/);
  });
});

describe('isQuireEntry', () => {
  it('knows the temporary names of what Quire creates, and nothing else', () => {
    for (const name of [
      'db',
      'postgres',
      'postgres.new',
      'secrets.key',
      'secrets.key.17.new',
      'calibration.json.17',
      'quire.sock.17',
    ]) {
      assert.ok(isQuireEntry(name), name);
    }
    for (const name of ['dba', 'key', 'secrets', 'quire.yaml', 'x.db', '.db', 'db.old.copy']) {
      assert.ok(!isQuireEntry(name), name);
    }
  });
});

describe('prepareDataFolder', {
  skip: process.platform === 'win32' && 'Windows has no permissions of this kind',
}, () => {
  let parent = '';
  beforeEach(() => {
    parent = mkdtempSync(join(tmpdir(), 'quire-folder-'));
  });
  afterEach(() => rmSync(parent, { recursive: true, force: true }));
  const modeOf = (path: string) => statSync(path).mode & 0o777;

  it('creates the folder with mode 0700, and closes one that is open to others', () => {
    const path = join(parent, 'a/b');
    assert.equal(prepareDataFolder(path), false);
    assert.equal(modeOf(path), 0o700);
    chmodSync(path, 0o2775);
    assert.equal(prepareDataFolder(path), true);
    assert.equal(modeOf(path), 0o700);
    assert.equal(prepareDataFolder(path), false);
  });

  it('follows a link to the folder itself', () => {
    mkdirSync(join(parent, 'disk'), { mode: 0o755 });
    symlinkSync('disk', join(parent, 'data'));
    assert.equal(prepareDataFolder(join(parent, 'data')), true);
    assert.equal(modeOf(join(parent, 'disk')), 0o700);
  });

  it('leaves a folder of others as it is and names another one', () => {
    mkdirSync(join(parent, 'www'));
    chmodSync(parent, 0o755);
    assert.throws(
      () => prepareDataFolder(parent),
      /^OperatorError: .*holds the folder 'www'.*QUIRE_DATA_DIR to .*quire-data\.$/,
    );
    assert.equal(modeOf(parent), 0o755);
  });

  it('says in a sentence that the path cannot be a folder', () => {
    writeFileSync(join(parent, 'file'), '');
    for (const path of [join(parent, 'file'), join(parent, 'file/x')]) {
      assert.throws(() => prepareDataFolder(path), /^OperatorError: The data folder .* cannot be used: /);
    }
  });

  it('rejects a folder of another user', {
    skip: process.geteuid?.() !== 0 && 'only root can give a folder away',
  }, () => {
    const path = join(parent, 'foreign');
    mkdirSync(path, { mode: 0o755 });
    chownSync(path, 12_345, 12_345);
    assert.throws(
      () => prepareDataFolder(path),
      /^OperatorError: .* belongs to user 12345, and Quire runs as user 0\./,
    );
    assert.equal(modeOf(path), 0o755);
  });
});
