import assert from 'node:assert/strict';
import { lstatSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { holdsDatabase, readSystemIdentifier, requireNoPglite, takeOwnership } from './cluster-folder.ts';

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

  it('is true for the folder of a cluster', async () => {
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

  it('throws for a cluster of another major version, and names the ways out', async () => {
    fill();
    writeFileSync(join(folder, 'PG_VERSION'), '17\n');
    await assert.rejects(
      holdsDatabase(folder),
      /^OperatorError: .* was created by PostgreSQL 17, and this version of Quire runs PostgreSQL 18\. .*pg_dumpall.*pg_upgrade.*Nothing was changed/,
    );
  });
});

describe('requireNoPglite', () => {
  it('throws for the database of an earlier version, and for no other folder of that name', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'quire-pglite-'));
    try {
      await requireNoPglite(dataDir);
      mkdirSync(join(dataDir, 'db'));
      await requireNoPglite(dataDir);
      writeFileSync(join(dataDir, 'db/PG_VERSION'), '18\n');
      await assert.rejects(
        requireNoPglite(dataDir),
        /^OperatorError: .*PGlite \(db\).*GET \/v1\/files.*QUIRE_DATA_DIR.*Nothing was changed/,
      );
    } finally {
      rmSync(dataDir, { recursive: true });
    }
  });
});

describe('readSystemIdentifier', () => {
  it('is the unsigned number that the server reports', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'quire-control-'));
    mkdirSync(join(folder, 'global'));
    const control = Buffer.alloc(64);
    control.writeBigUInt64LE(17_710_961_175_247_275_693n);
    writeFileSync(join(folder, 'global/pg_control'), control);
    assert.equal(await readSystemIdentifier(folder), '17710961175247275693');
    rmSync(folder, { recursive: true });
  });
});

describe('takeOwnership', { skip: process.geteuid?.() !== 0 && 'only root can give a folder away' }, () => {
  it('gives everything in the folder to the user of the server, the folder itself last', () => {
    const folder = mkdtempSync(join(tmpdir(), 'quire-owner-'));
    mkdirSync(join(folder, 'base'));
    writeFileSync(join(folder, 'base/1'), '');
    symlinkSync('/etc/passwd', join(folder, 'link'));
    takeOwnership(folder, 12_345);
    for (const name of ['', 'base', 'base/1', 'link']) assert.equal(lstatSync(join(folder, name)).uid, 12_345, name);
    assert.equal(lstatSync('/etc/passwd').uid, 0);
    takeOwnership(folder, 0);
    assert.equal(lstatSync(join(folder, 'base/1')).uid, 0);
    rmSync(folder, { recursive: true });
  });
});
