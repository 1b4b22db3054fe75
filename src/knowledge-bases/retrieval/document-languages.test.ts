import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Database } from '../../db/db.ts';
import { documentLanguages } from './document-languages.ts';

/** A database whose queries return `counts.rows` or fail; `counts.queries` counts them. */
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
  it('returns languages of at least 5 % of the documents, and English without documents', async () => {
    const { languages } = setUp([
      { language: 'de', documents: 91 },
      { language: 'fr', documents: 5 },
      { language: 'es', documents: 4 },
    ]);
    assert.deepEqual(await languages(), ['de', 'fr']);
    assert.deepEqual(await setUp([]).languages(), ['en']);
  });

  it('reads again after 30 seconds', async () => {
    const { counts, clock, languages } = setUp([]);
    await languages();
    clock.now = 29_999;
    await languages();
    assert.equal(counts.queries, 1);
    clock.now = 30_000;
    await languages();
    assert.equal(counts.queries, 2);
  });

  it('reads again after the number of documents changed by 5 %', async () => {
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

  it('caches up to 1,000 knowledge bases, and no failures', async () => {
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
