import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { KvContext } from './kv-context.ts';
import { KvDiskCache, scopeKey } from './kv-disk-cache.ts';
import { PrefixCache } from './prefix-cache.ts';
import { SnapshotStore } from './snapshot-store.ts';

const SCOPE = scopeKey('org_1');
const TOKENS = Int32Array.from({ length: 80 }, (_, token) => token);
/** A context without a model: it reads no snapshot. */
const kv = { slots: 1, current: {} } as KvContext;

describe('an unreadable KV snapshot', () => {
  for (const { name, content } of [
    { name: 'whose file is gone', content: null },
    { name: 'whose file is empty', content: '' },
    { name: 'that the model rejects', content: 'x'.repeat(1_000) },
  ]) {
    it(`${name} is tried once, deleted, and leaves the others usable`, async (t) => {
      const folder = mkdtempSync(join(tmpdir(), 'quire-snapshots-'));
      t.after(() => rmSync(folder, { recursive: true }));
      const { files } = await KvDiskCache.open(folder, 'model');
      const snapshot = (id: string, first: number) => ({
        id,
        scope: SCOPE,
        bytes: 1_000,
        tokens: TOKENS.map((token) => first + token),
      });
      const snapshots = [snapshot('bad', 0), snapshot('other', 1_000)];
      for (const id of content === null ? [] : ['bad', 'other']) writeFileSync(files.path(id), content ?? '');
      const cache = new PrefixCache(1e9);
      const warnings: string[] = [];
      const warn = (what: string) => void warnings.push(what);
      const store = new SnapshotStore({ kv, cache, files, snapshots, diskBytes: 1e9, bytesPerToken: 10, warn });
      const matches = (first: number) =>
        [
          ...cache.matches(
            SCOPE,
            TOKENS.map((token) => first + token),
          ),
        ].length;
      assert.deepEqual([matches(0), matches(1_000)], [1, 1]);
      for (let attempt = 0; attempt < 2; attempt += 1) {
        assert.deepEqual((await store.load(0, 'bad')).tokens, []);
        assert.deepEqual(warnings, ['KV snapshot unreadable, deleted']);
        assert.deepEqual([matches(0), matches(1_000)], [0, 1], 'no later request chooses it');
      }
      await store.flush();
      assert.ok(!existsSync(files.path('bad')));
      assert.equal(existsSync(files.path('other')), content !== null);
    });
  }
});
