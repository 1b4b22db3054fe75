import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DriveFile, TreeFile } from '../drive-store.ts';
import { DriveTree, FOLDER, SHORTCUT } from './drive-tree.ts';

const file = (id: string, parent?: string, more: Partial<DriveFile> = {}): TreeFile => ({
  id,
  name: id,
  mimeType: 'text/plain',
  modifiedTime: 't',
  ...(parent !== undefined && { parents: [parent] }),
  isListed: false,
  ...more,
});
const folder = (id: string, parent?: string): TreeFile => ({
  ...file(id, parent, { mimeType: FOLDER }),
  isListed: true,
});
const shortcut = (id: string, parent: string, targetId: string, targetMimeType = 'text/plain') =>
  file(id, parent, { mimeType: SHORTCUT, shortcutDetails: { targetId, targetMimeType } });
const ids = (files: Iterable<DriveFile>) => Array.from(files, ({ id }) => id).toSorted();
const change = (changed: DriveFile) => ({ fileId: changed.id, file: changed });

describe('DriveTree', () => {
  it('selects what is below the roots, and drops the rest', () => {
    const tree = new DriveTree(
      ['r'],
      [folder('r'), folder('s', 'r'), file('a', 's'), folder('x'), file('b', 'x'), file('c')],
    );
    const { files, unlistedIds } = tree.select();
    assert.deepEqual([ids(files), unlistedIds, ids(tree.files)], [['a'], [], ['a', 'r', 's']]);
  });

  it('follows shortcuts to folders, also in cycles, and names the targets that it does not contain', () => {
    const tree = new DriveTree(
      ['r'],
      [
        folder('r'),
        shortcut('l', 'r', 'x', FOLDER),
        shortcut('m', 'x', 'r', FOLDER),
        folder('x'),
        file('b', 'x'),
        shortcut('n', 'x', 'b'),
        shortcut('o', 'x', 'far'),
      ],
    );
    const { files, targetIds } = tree.select();
    assert.deepEqual([ids(files), targetIds], [['b'], ['far']]);
  });

  it('names folders whose content is not known: new ones, and those that come back', () => {
    const tree = new DriveTree(['r'], [folder('r'), folder('s', 'r')]);
    tree.apply(change(folder('new', 's')));
    tree.apply(change({ ...folder('s', 'r'), name: 'renamed' }));
    assert.deepEqual(tree.select().unlistedIds, ['new']);
    tree.markListed('new');
    tree.apply(change(folder('s', 'elsewhere')));
    tree.select();
    tree.apply(change(folder('s', 'r')));
    assert.deepEqual(tree.select().unlistedIds, ['s']);
  });

  it('drops files that are removed or in the trash, and asks for a listing without roots when a folder is gone', () => {
    const files = [folder('f'), file('a', 'f'), file('b', 'f')];
    const tree = new DriveTree(null, files);
    assert.ok(tree.apply({ fileId: 'a', removed: true }));
    assert.ok(tree.apply(change({ ...file('b', 'f'), trashed: true })));
    assert.ok(tree.apply({ removed: true }), 'a change of a drive');
    assert.deepEqual(ids(tree.select().files), []);
    assert.equal(tree.apply({ fileId: 'f', removed: true }), false);
    assert.equal(new DriveTree(['f'], files).apply({ fileId: 'f', removed: true }), true);
  });
});
