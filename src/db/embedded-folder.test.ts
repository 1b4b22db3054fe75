import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { holdsDatabase } from './embedded-folder.ts';

const FOLDERS = ['global', 'base', 'pg_wal', 'pg_xact'];
const FILES = ['PG_VERSION', 'global/pg_control', 'postgresql.conf', 'pg_hba.conf'];

describe('holdsDatabase', () => {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'quire-pg-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  const fill = () => {
    for (const name of FOLDERS) mkdirSync(join(folder, name));
    for (const name of FILES) writeFileSync(join(folder, name), '18\n');
  };

  it('is false where there is no folder, or an empty one, such as a new disk', async () => {
    assert.equal(await holdsDatabase(join(folder, 'none')), false);
    assert.equal(await holdsDatabase(folder), false);
    mkdirSync(join(folder, 'lost+found'));
    assert.equal(await holdsDatabase(folder), false);
  });

  it('is true for the folder of a server', async () => {
    fill();
    assert.equal(await holdsDatabase(folder), true);
  });

  it('throws for a folder that holds anything else, and names what is missing and the ways out', async () => {
    for (const name of [...FOLDERS, ...FILES]) {
      fill();
      rmSync(join(folder, name), { recursive: true });
      const missing = name === 'global' ? 'global/pg_control' : name;
      const expected = new RegExp(
        `^OperatorError: .* is damaged: ${missing} is missing\\. .*from a backup.*QUIRE_DATA_DIR`,
      );
      await assert.rejects(holdsDatabase(folder), expected);
      rmSync(folder, { recursive: true });
      mkdirSync(folder);
    }
    writeFileSync(join(folder, 'notes.txt'), '');
    await assert.rejects(holdsDatabase(folder), /PG_VERSION, global\/pg_control, .* are missing/);
  });

  it('throws for a version file without a version', async () => {
    fill();
    for (const text of ['', 'xx', '\0\0\0']) {
      writeFileSync(join(folder, 'PG_VERSION'), text);
      await assert.rejects(holdsDatabase(folder), /is damaged: PG_VERSION names no version/);
    }
  });
});
