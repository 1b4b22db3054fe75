import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createFolder } from './create-folder.ts';

describe('createFolder', () => {
  let parent = '';
  beforeEach(() => {
    parent = mkdtempSync(join(tmpdir(), 'quire-create-'));
    mkdirSync(join(parent, 'a'));
  });
  afterEach(() => rmSync(parent, { recursive: true, force: true }));
  const folder = () => join(parent, 'a/folder');
  const fill = async (temporary: string) => {
    assert.equal(existsSync(temporary), false);
    assert.equal(existsSync(join(folder(), 'file')), false);
    mkdirSync(temporary);
    writeFileSync(join(temporary, 'file'), '');
  };

  it('renames the folder after it is filled, replacing an empty folder and the remains of a killed process', async () => {
    for (const before of ['a', 'a/folder', 'a/folder.new/half']) {
      mkdirSync(join(parent, before), { recursive: true });
      await createFolder(folder(), fill);
      assert.deepEqual(readdirSync(parent, { recursive: true }).sort(), ['a', 'a/folder', 'a/folder/file']);
      rmSync(folder(), { recursive: true });
    }
  });

  it('leaves nothing after a failed fill', async () => {
    const full = async (temporary: string) => {
      await fill(temporary);
      throw new Error('the disk is full');
    };
    await assert.rejects(createFolder(folder(), full), /the disk is full/);
    assert.deepEqual(readdirSync(parent, { recursive: true }), ['a']);
  });

  it('does not replace a folder with content', async () => {
    mkdirSync(folder(), { recursive: true });
    writeFileSync(join(folder(), 'other'), '');
    const fillAlone = async (temporary: string) => mkdirSync(temporary);
    await assert.rejects(createFolder(folder(), fillAlone), /ENOTEMPTY|EEXIST/);
    assert.deepEqual(readdirSync(join(parent, 'a')), ['folder']);
    assert.deepEqual(readdirSync(folder()), ['other']);
  });
});
