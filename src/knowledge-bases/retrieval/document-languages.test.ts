import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Database } from '../../db/db.ts';
import { documentLanguages } from './document-languages.ts';

/** A database in which every query gives `counts.rows`, or fails; `counts.queries` says how many there were. */
function setUp(rows: { language: string; documents: number }[]) {
  const counts = { rows, queries: 0, fails: false };
  const query = {
    // biome-ignore lint/suspicious/noThenProperty: a query of Drizzle is awaited.
    then: (resolve: (value: unknown) => void, reject: (error: Error) => void) => {
      counts.queries += 1;
      return counts.fails ? reject(new Error('the database is away')) : resolve(counts.rows);
    },
  };
  const sql: object = new Proxy(query, {
    get: (target, name, self) => (name === 'then' ? Reflect.get(target, name, self) : () => sql),
  });
  const clock = { now: 0 };
  const db = { sql } as unknown as Database;
  const languages = (documentCount = 100, id = 'kb_1') =>
    documentLanguages({ db, now: () => clock.now }, { id, documentCount });
  return { counts, clock, languages };
}

describe('documentLanguages', () => {
  it('names the languages of at least 5 % of the documents, and English where there are none', async () => {
    const { languages } = setUp([
      { language: 'de', documents: 91 },
      { language: 'fr', documents: 5 },
      { language: 'es', documents: 4 },
    ]);
    assert.deepEqual(await languages(), ['de', 'fr']);
    assert.deepEqual(await setUp([]).languages(), ['en']);
  });

  it('reads them again after 30 seconds', async () => {
    const { counts, clock, languages } = setUp([]);
    await languages();
    clock.now = 29_999;
    await languages();
    assert.equal(counts.queries, 1);
    clock.now = 30_000;
    await languages();
    assert.equal(counts.queries, 2);
  });

  it('reads them again where there are 5 % more or fewer documents than then', async () => {
    for (const [documents, queries] of [
      [95, 1],
      [105, 1],
      [94, 2],
      [106, 2],
    ]) {
      const { counts, languages } = setUp([]);
      await languages(100);
      await languages(documents);
      assert.equal(counts.queries, queries, `${documents} documents`);
    }
  });

  it('remembers each knowledge base apart, 1,000 of them, and nothing that failed', async () => {
    const { counts, languages } = setUp([]);
    counts.fails = true;
    await assert.rejects(languages(), /away/);
    counts.fails = false;
    for (let base = 1; base <= 1_000; base += 1) await languages(100, `kb_${base}`);
    await languages(100, 'kb_1');
    assert.equal(counts.queries, 1_001);
    await languages(100, 'kb_1001');
    await languages(100, 'kb_1');
    assert.equal(counts.queries, 1_003);
  });
});
