import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { bundledEmbedder, embeddedBy } from '../../../test/embedder.ts';
import { useApi } from '../../../test/harness.ts';
import { ingestInMemory } from '../../../test/ingestion.ts';

const engine = bundledEmbedder();
after(() => engine.close());
const api = useApi(embeddedBy(engine));

/** A synced source of a remote service, whose listing may be incomplete. */
async function setUp(items: number) {
  const keys = Array.from({ length: items }, (_, item) => `item ${item}`);
  const kb = await ingestInMemory(api, Object.fromEntries(keys.map((key) => [key, `The stone of ${key}.`])));
  Object.assign(kb.source.connector, { confirmsDeletions: true });
  await kb.sync();
  const remove = (count: number) => {
    for (const key of [...kb.source.items.keys()].slice(0, count)) kb.source.items.delete(key);
  };
  const sync = async () => {
    const job = await kb.sync();
    return {
      deleted: job?.documentsDeleted,
      pending: job?.documentsPendingDeletion,
      left: (await kb.documents()).length,
    };
  };
  return { kb, remove, sync };
}

describe('the deletion of documents that a remote service does not list any more', () => {
  for (const { stored, removed, isHeld } of [
    { stored: 1, removed: 1, isHeld: true },
    { stored: 2, removed: 1, isHeld: false },
    { stored: 3, removed: 2, isHeld: true },
    { stored: 4, removed: 2, isHeld: false },
    { stored: 4, removed: 3, isHeld: true },
    { stored: 4, removed: 4, isHeld: true },
  ]) {
    it(`of ${removed} of ${stored} ${isHeld ? 'waits for the next sync' : 'is done at once'}`, async () => {
      const { kb, remove, sync } = await setUp(stored);
      remove(removed);
      const done = { deleted: removed, pending: 0, left: stored - removed };
      const held = { deleted: 0, pending: removed, left: stored };
      assert.deepEqual(await sync(), isHeld ? held : done);
      if (isHeld) assert.deepEqual(await sync(), done);
      await kb.assertCounts();
    });
  }

  it('compares with the documents from before the job: new ones are no evidence that the listing is complete', async () => {
    const { kb, remove, sync } = await setUp(2);
    remove(2);
    for (let item = 0; item < 5; item += 1) kb.source.items.set(`new ${item}`, 'Another stone.');
    assert.deepEqual(await sync(), { deleted: 0, pending: 2, left: 7 });
  });

  it('waits once: a listing that is complete again ends the wait, and the next loss waits anew', async () => {
    const { kb, remove, sync } = await setUp(2);
    const all = new Map(kb.source.items);
    remove(2);
    assert.deepEqual(await sync(), { deleted: 0, pending: 2, left: 2 });
    for (const [key, text] of all) kb.source.items.set(key, text);
    assert.deepEqual(await sync(), { deleted: 0, pending: 0, left: 2 });
    remove(2);
    assert.deepEqual(await sync(), { deleted: 0, pending: 2, left: 2 });
    kb.source.listError = new Error('no network');
    await assert.rejects(kb.sync());
    kb.source.listError = null;
    assert.deepEqual(await sync(), { deleted: 2, pending: 0, left: 0 }, 'a failed sync in between changes nothing');
  });
});
