import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { runForOrganization } from '../lib/organization-context.ts';
import { ChunkIndex } from './chunk-index.ts';
import type { IndexedChunk } from './chunk-rows.ts';
import type { FieldValues } from './field-values.ts';
import type { Condition } from './filter.ts';
import type { ChunkSearch } from './search-table.ts';

/** A unit vector between two axes; a larger `share` is nearer to `axis`. */
function vector(axis: number, share = 1): Float32Array {
  const made = new Float32Array(1024);
  made[axis] = share;
  made[1023] = Math.sqrt(1 - share * share);
  return made;
}

interface Wanted {
  id: string;
  document?: string;
  text?: string;
  at?: Float32Array;
  fields?: FieldValues;
}

const chunk = ({
  id,
  document = `doc_${id}`,
  text = 'nothing',
  at = vector(0),
  fields = {},
}: Wanted): IndexedChunk => ({
  id,
  documentId: document,
  documentName: `${document}.txt`,
  sourceType: 'file_upload',
  language: 'en',
  text,
  vector: at,
  fields,
});

const { signal } = new AbortController();
const anything: ChunkSearch = { vector: null, text: null, languages: ['en'], conditions: [], limit: 10, signal };

describe('ChunkIndex', () => {
  let folder: string;
  let index: ChunkIndex;
  let bases = 0;
  const newBase = () => `kb_${bases++}`;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'quire-index-'));
    index = await ChunkIndex.open(folder);
  });
  after(async () => {
    await index.close();
    await rm(folder, { recursive: true });
  });

  const put = (base: string, chunks: readonly IndexedChunk[]) =>
    index.replace(base, [...new Set(chunks.map(({ documentId }) => documentId))], { chunks, isNew: false });
  const search = async (base: string, wanted: Partial<ChunkSearch>) =>
    (await index.search(base, { ...anything, ...wanted })).sort((a, b) => a.id.localeCompare(b.id));
  const idsOf = async (base: string, wanted: Partial<ChunkSearch>) => (await search(base, wanted)).map(({ id }) => id);

  it('returns no hits for an unknown knowledge base', async () => {
    const base = newBase();
    assert.deepEqual(await search(base, { vector: vector(0), text: 'word' }), []);
    assert.equal(await index.count(base), 0);
    await index.maintain(base);
  });

  it('returns cosine similarities', async () => {
    const base = newBase();
    await put(base, [
      chunk({ id: 'a', at: vector(1) }),
      chunk({ id: 'b', at: vector(1, 0.6) }),
      chunk({ id: 'c', at: vector(2) }),
    ]);
    const hits = await search(base, { vector: vector(1) });
    assert.deepEqual(
      hits.map(({ id, cosine, bm25 }) => [id, cosine?.toFixed(3), bm25]),
      [
        ['a', '1.000', null],
        ['b', '0.600', null],
        ['c', '0.000', null],
      ],
    );
  });

  it('returns BM25 scores by the formula', async () => {
    const base = newBase();
    const texts = ['red fish', 'red stone stone', 'blue stone', 'green'];
    await put(
      base,
      texts.map((text, i) => chunk({ id: `c${i}`, text })),
    );
    const hits = await search(base, { text: 'stones' });
    // k1 = 1.2, b = 0.75 (Robertson and Zaragoza, 2009); four texts of two words on average, two of which contain the
    // word.
    const idf = Math.log(1 + (4 - 2 + 0.5) / (2 + 0.5));
    const bm25 = (count: number, length: number) => (idf * count * 2.2) / (count + 1.2 * (0.25 + (0.75 * length) / 2));
    assert.deepEqual(
      hits.map(({ id }) => id),
      ['c1', 'c2'],
    );
    assert.ok(Math.abs((hits[0]?.bm25 ?? 0) - bm25(2, 3)) < 1e-3, String(hits[0]?.bm25));
    assert.ok(Math.abs((hits[1]?.bm25 ?? 0) - bm25(1, 2)) < 1e-3, String(hits[1]?.bm25));
  });

  it('returns both scores of every hit of a hybrid search', async () => {
    const base = newBase();
    await put(base, [
      chunk({ id: 'far', text: 'stone', at: vector(3, 0.1) }),
      ...Array.from({ length: 5 }, (_, i) =>
        chunk({ id: `near${i}`, text: i === 0 ? 'long text with one stone in it' : 'fish', at: vector(3, 0.9) }),
      ),
    ]);
    const hits = await search(base, { vector: vector(3), text: 'stone', limit: 5 });
    const far = hits.find(({ id }) => id === 'far');
    assert.ok(far !== undefined && Math.abs((far.cosine ?? 0) - 0.1) < 1e-3 && (far.bm25 ?? 0) > 0);
    const near = hits.find(({ id }) => id === 'near0');
    assert.ok(near !== undefined && (near.bm25 ?? 0) > 0 && (near.bm25 ?? 0) < (far.bm25 ?? 0));
    assert.ok(hits.filter(({ bm25 }) => bm25 === 0).length === 4);
  });

  it('bounds the BM25 score of vector hits beyond the keyword limit; bm25Scores returns it', async () => {
    const base = newBase();
    const words = (count: number) => Array.from({ length: count }, () => 'stone').join(' ');
    await put(base, [
      ...Array.from({ length: 5 }, (_, i) => chunk({ id: `words${i}`, text: words(i + 5), at: vector(3, 0.1) })),
      chunk({ id: 'near1', text: 'one stone', at: vector(3) }),
      chunk({ id: 'near2', text: 'fish', at: vector(3) }),
    ]);
    const hits = await search(base, { vector: vector(3), text: 'stone', limit: 5 });
    const all = new Map((await search(base, { text: 'stone', limit: 100 })).map(({ id, bm25 }) => [id, bm25 ?? 0]));
    const open = hits.filter(({ isBound }) => isBound);
    assert.deepEqual(
      open.map(({ id }) => id),
      ['near1', 'near2'],
    );
    assert.ok(open.every(({ id, bm25 }) => (bm25 ?? 0) > (all.get(id) ?? 0)));
    assert.ok(hits.every(({ id, bm25, isBound }) => isBound || bm25 === all.get(id)));
    const asked = await index.bm25Scores(base, ['near1', 'near2'], { text: 'stone', languages: ['en'], signal });
    assert.deepEqual([...asked], [['near1', all.get('near1')]]);
    assert.equal((await index.bm25Scores(base, [], { text: 'stone', languages: ['en'], signal })).size, 0);
  });

  it('replaces and removes documents', async () => {
    const base = newBase();
    await put(base, [chunk({ id: 'old', document: 'd', text: 'stone' }), chunk({ id: 'other', text: 'stone' })]);
    await put(base, [chunk({ id: 'new', document: 'd', text: 'stone' })]);
    assert.deepEqual(await idsOf(base, { text: 'stone' }), ['new', 'other']);
    await index.remove(base, ['d']);
    await index.remove(base, ['d']);
    assert.deepEqual(await idsOf(base, { text: 'stone', vector: vector(0) }), ['other']);
    await put(base, [chunk({ id: 'back', document: 'd', text: 'stone' })]);
    await index.replace(base, ['d'], { chunks: [], isNew: false });
    assert.deepEqual(await idsOf(base, { text: 'stone' }), ['other']);
  });

  it('has the scores of a new index after deletions, additions and maintenance', async () => {
    const [worn, fresh] = [newBase(), newBase()];
    const texts = Array.from({ length: 40 }, (_, i) => `stone ${'word '.repeat(i % 7)} number${i % 5}`);
    const all = texts.map((text, i) => chunk({ id: `c${i}`, text }));
    await put(fresh, all);
    await put(worn, all);
    for (let round = 0; round < 5; round++) {
      await index.remove(
        worn,
        all.slice(0, 20).map(({ documentId }) => documentId),
      );
      await put(worn, all.slice(0, 20));
      assert.ok((await index.maintain(worn)).includes('buildTerms'));
    }
    const scores = async (base: string) =>
      (await search(base, { text: 'stone number3', limit: 40 })).map(({ id, bm25 }) => [id, bm25?.toFixed(4)]);
    assert.deepEqual(await scores(worn), await scores(fresh));
  });

  it('counts the work that maintenance has left, until it is done or the knowledge base is dropped', async () => {
    const base = newBase();
    const before = index.maintenanceDebt();
    const added = () => {
      const { unindexedRows, deletedRows } = index.maintenanceDebt();
      return [unindexedRows - before.unindexedRows, deletedRows - before.deletedRows];
    };
    await put(
      base,
      Array.from({ length: 40 }, (_, i) => chunk({ id: `d${i}`, text: 'stone' })),
    );
    await index.maintain(base);
    assert.deepEqual(added(), [0, 0]);
    await index.remove(base, ['doc_d0', 'doc_d1']);
    await put(base, [chunk({ id: 'd40', text: 'stone' })]);
    assert.deepEqual(await index.maintain(base, true), []);
    assert.deepEqual(added(), [1, 2]);
    assert.deepEqual(await index.maintain(base), ['optimize']);
    assert.deepEqual(added(), [0, 2]);
    await index.drop(base);
    assert.deepEqual(added(), [0, 0]);
  });

  it('drops a knowledge base, which can be created again', async () => {
    const base = newBase();
    await put(base, [chunk({ id: 'a', text: 'stone' })]);
    await index.drop(base);
    await index.drop(base);
    assert.deepEqual(await idsOf(base, { text: 'stone' }), []);
  });

  it('creates a table whose creation was interrupted, and never replaces a damaged one', async () => {
    const interrupted = newBase();
    await mkdir(join(folder, `${interrupted}.lance`, '_versions'), { recursive: true });
    assert.deepEqual(await index.search(interrupted, anything), []);
    await index.replace(interrupted, [], { chunks: [chunk({ id: 'a' })], isNew: true });
    assert.equal(await index.count(interrupted), 1);
    await index.close();
    const versions = join(folder, `${interrupted}.lance`, '_versions');
    for (const name of await readdir(versions)) await writeFile(join(versions, name), 'damaged');
    index = await ChunkIndex.open(folder);
    await assert.rejects(index.search(interrupted, anything));
    await assert.rejects(index.replace(interrupted, [], { chunks: [chunk({ id: 'b' })], isNew: true }));
    await rm(join(folder, `${interrupted}.lance`), { recursive: true });
  });

  it('leaves one version of an idle table, although the first cleanup compacts it', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: Date.now() });
    const base = newBase();
    const write = (id: string) => index.replace(base, [], { chunks: [chunk({ id })], isNew: true });
    await write('a');
    await index.maintain(base);
    await write('b');
    assert.deepEqual(await index.maintain(base), ['optimize']);
    await write('c');
    const versions = join(folder, `${base}.lance`, '_versions');
    const countVersions = async () => (await readdir(versions)).filter((name) => name.endsWith('.manifest')).length;
    const before = await countVersions();
    assert.equal(before > 1, true);
    for (let minute = 0; minute < 3; minute += 1) {
      t.mock.timers.tick(61_000);
      // Waits in the queue of writes behind the cleanup.
      await index.remove(base, []);
    }
    assert.equal(await countVersions(), 1);
  });

  it('shares concurrent searches among organizations', async () => {
    const base = newBase();
    await put(
      base,
      Array.from({ length: 500 }, (_, i) => chunk({ id: `chunk_${i}`, text: `stone ${i} 'of\nthe' wall` })),
    );
    const searchFor = (organization: string, options: Partial<ChunkSearch> = {}) =>
      runForOrganization(organization, () =>
        index.search(base, { ...anything, vector: vector(0), text: 'stone wall', limit: 100, ...options }),
      );
    let ended = 0;
    const leaving = new AbortController();
    const flood = Array.from({ length: 200 }, () => searchFor('a').then(() => (ended += 1)));
    const left = assert.rejects(searchFor('a', { signal: leaving.signal }), /left/);
    leaving.abort(new Error('left'));
    assert.equal((await searchFor('b')).length, 100);
    assert.ok(ended < flood.length / 2, `${ended} searches of the flood ended before`);
    await left;
    assert.ok(ended < flood.length);
    await Promise.all(flood);
  });

  it('finds the chunks of a table that another process has dropped and created again', async () => {
    const base = newBase();
    const url = `file://${join(folder, 'shared')}`;
    const [one, other] = await Promise.all([ChunkIndex.open(url), ChunkIndex.open(url)]);
    const query = { ...anything, text: 'harbour' };
    const write = async (by: ChunkIndex, id: string) => {
      await by.replace(base, [`doc_${id}`], { chunks: [chunk({ id, text: `the harbour ${id}` })], isNew: true });
      await by.maintain(base);
    };
    await write(one, 'a');
    assert.deepEqual(
      (await one.search(base, query)).map(({ id }) => id),
      ['a'],
    );
    await other.drop(base);
    await write(other, 'b');
    assert.deepEqual(
      (await one.search(base, query)).map(({ id }) => id),
      ['b'],
    );
    await Promise.all([one.close(), other.close()]);
  });

  it('is persistent', async () => {
    const other = await mkdtemp(join(tmpdir(), 'quire-index-'));
    const first = await ChunkIndex.open(other);
    await first.replace('kb', ['doc_a'], {
      chunks: [chunk({ id: 'a', text: 'stone', fields: { size: 3 } })],
      isNew: true,
    });
    await first.close();
    const second = await ChunkIndex.open(other);
    const conditions: Condition[] = [{ on: 'field', key: 'size', is: 'gte', value: 3 }];
    assert.equal((await second.search('kb', { ...anything, text: 'stones', conditions })).length, 1);
    await second.close();
    await rm(other, { recursive: true });
  });

  it('caches index data and metadata within the given sizes, and sees every write', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'quire-index-'));
    const small = await ChunkIndex.open(folder, { caches: { indexMb: 1, metadataMb: 1 } });
    const sizes = [small.caches];
    const countHits = async (base: string, text: string) => (await small.search(base, { ...anything, text })).length;
    const writeAndSearch = async (base: string) => {
      for (let round = 0; round < 12; round += 1) {
        const chunks = Array.from({ length: 60 }, (_, i) =>
          chunk({ id: `c${i}`, document: 'doc_a', text: `stone${round}x${i} naïve 石 😀` }),
        );
        await small.replace(base, ['doc_a'], { chunks, isNew: false });
        await small.maintain(base);
        const late = chunk({ id: 'late', document: 'doc_b', text: `late${round}` });
        const write = small.replace(base, ['doc_b'], { chunks: [late], isNew: false });
        // Searches open the table again while a write is pending.
        for (let i = 0; i < 3; i += 1) assert.equal(await countHits(base, `stone${round}x7`), 1);
        await write;
        assert.equal(await countHits(base, `late${round}`), 1);
        sizes.push(small.caches);
      }
    };
    await Promise.all(['kb_0', 'kb_1', 'kb_2'].map(writeAndSearch));
    const entries = sizes.map((size) => size.entries);
    const renewals = entries.filter((count, i) => count < (entries[i - 1] ?? 0) / 2);
    assert.ok(renewals.length > 0, `never renewed: ${entries}`);
    assert.ok(Math.max(...entries) < 1_024, `${entries}`);
    assert.ok(Math.max(...sizes.map(({ bytes }) => bytes)) <= 2 * 1_048_576);
    await small.close();
    await rm(folder, { recursive: true });
  });

  it('serializes concurrent writes', async () => {
    const base = newBase();
    await Promise.all(
      Array.from({ length: 12 }, (_, i) =>
        put(base, [chunk({ id: `c${i}`, text: 'stone' })]).then(() => index.maintain(base)),
      ),
    );
    assert.equal(await index.count(base), 12);
  });

  describe('with filters', () => {
    const base = 'kb_conditions';
    before(async () => {
      await put(base, [
        chunk({
          id: 'a',
          text: 'stone',
          fields: { lang: 'en', year: 2020, tags: ['x', 'y'], day: '2024-05-01', open: true },
        }),
        chunk({
          id: 'b',
          text: 'stone',
          fields: { lang: 'de', year: 2021.5, tags: ['y'], day: '2024-05-01T12:00:00+02:00', open: false },
        }),
        chunk({ id: 'c', text: 'stone', fields: { lang: "it's \u0001", year: '2022', tags: [], day: '2024-02-30' } }),
      ]);
      await put(base, [chunk({ id: 'd', text: 'stone', fields: { later: 7, 'cafe\u0301': ' e\u0301 \n e' } })]);
    });
    const field = (key: string, is: 'in' | 'notIn', ...values: (string | number | boolean)[]): Condition => ({
      on: 'field',
      key,
      is,
      values,
    });
    const range = (key: string, is: 'gt' | 'gte' | 'lt' | 'lte', value: number | string): Condition => ({
      on: 'field',
      key,
      is,
      value,
    });

    const cases: [what: string, conditions: Condition[], ids: string[]][] = [
      ['equal text', [field('lang', 'in', 'en')], ['a']],
      ['text with quotes and separators', [field('lang', 'in', "it's \u0001")], ['c']],
      ['a number is not its text', [field('year', 'in', 2022)], []],
      ['any of several', [field('lang', 'in', 'en', 'de', 'fr')], ['a', 'b']],
      ['none of no values', [field('lang', 'in')], []],
      ['a list contains it', [field('tags', 'in', 'y')], ['a', 'b']],
      ['not equal, or absent', [field('lang', 'notIn', 'en')], ['b', 'c', 'd']],
      ['true and false', [field('open', 'in', false)], ['b']],
      ['numbers above', [range('year', 'gt', 2020)], ['b']],
      ['numbers between', [range('year', 'gte', 2020), range('year', 'lte', 2021.5)], ['a', 'b']],
      ['dates below, in whatever zone', [range('day', 'lt', '2024-05-01T10:00:01Z')], ['a', 'b']],
      ['a date equals the same time', [field('day', 'in', '2024-05-01T10:00:00Z')], ['b']],
      ['a day that no month has is a text', [field('day', 'in', '2024-02-30')], ['c']],
      ['and no date', [range('day', 'lt', '2024-05-01')], []],
      ['a text that is written otherwise', [field('caf\u00e9', 'in', '\u00e9 e')], ['d']],
      ['a key that came later', [range('later', 'gte', 7)], ['d']],
      ['a key that no document has', [range('size', 'lt', 7)], []],
      ['the document', [{ on: 'document_id', value: 'doc_c' }], ['c']],
      ['its name', [{ on: 'document_name', value: 'doc_b.txt' }], ['b']],
      [
        'its source, and something else',
        [{ on: 'source_type', value: 'file_upload' }, field('lang', 'in', 'de')],
        ['b'],
      ],
      ['SQL is text', [field("x') OR true --", 'in', "y') OR true --")], []],
    ];
    for (const [what, conditions, ids] of cases) {
      it(`returns only matching chunks: ${what}`, async () => {
        assert.deepEqual(await idsOf(base, { text: 'stone', conditions }), ids);
        assert.deepEqual(await idsOf(base, { vector: vector(0), conditions }), ids);
      });
    }

    it('does not change scores', async () => {
      const [all, one] = [
        await search(base, { text: 'stone' }),
        await search(base, { text: 'stone', conditions: [field('lang', 'in', 'de')] }),
      ];
      assert.equal(one[0]?.bm25, all.find(({ id }) => id === 'b')?.bm25);
    });
  });

  describe('above the size of flat search', () => {
    const base = 'kb_large';
    const ROWS = 5_200;
    /** Vectors clustered around sixteen axes. */
    const at = (i: number) => {
      const made = vector(i % 16, 0.9);
      for (let k = 0; k < 40; k++) made[100 + ((i * 37 + k * 101) % 900)] = ((i * 31 + k * 17) % 23) / 60 - 0.18;
      const length = Math.hypot(...made);
      return made.map((value) => value / length);
    };
    const query = at(77_777);
    const conditions: Condition[][] = [
      [],
      [{ on: 'field', key: 'tags', is: 'in', values: ['t3'] }],
      [{ on: 'field', key: 'tags', is: 'in', values: ['t3', 't5'] }],
      [{ on: 'field', key: 'tags', is: 'notIn', values: ['t1', 't2'] }],
      [{ on: 'field', key: 'n', is: 'gte', value: 5_100 }],
      [{ on: 'document_id', value: 'doc_77' }],
    ];
    const matching = () =>
      Promise.all(conditions.map((one) => idsOf(base, { text: 'word', conditions: one, limit: 10_000 })));
    /** The best ten of a hundred hits. */
    const nearest = async () => {
      const hits = await Promise.all(
        conditions.map((one) => search(base, { vector: query, conditions: one, limit: 100 })),
      );
      return hits.map((some) => {
        const sorted = some.toSorted((a, b) => (b.cosine ?? 0) - (a.cosine ?? 0));
        return sorted.slice(0, 10).map(({ id }) => id);
      });
    };

    before(async () => {
      for (let from = 0; from < ROWS; from += 1300) {
        const chunks = Array.from({ length: 1300 }, (_, k) => {
          const i = from + k;
          const fields = { n: i, ...(i % 8 !== 0 && { tags: [`t${i % 8}`, `u${i % 3}`] }) };
          return chunk({ id: `c${i}`, document: `doc_${i % 400}`, text: `word w${i % 50}`, at: at(i), fields });
        });
        await index.replace(base, [...new Set(chunks.map(({ documentId }) => documentId))], { chunks, isNew: true });
      }
    });

    it('finds the same with and without indexes, and nearly the same nearest vectors', async () => {
      const [matches, exact] = [await matching(), await nearest()];
      assert.deepEqual(
        matches.map(({ length }) => length),
        [ROWS, 650, 1300, 3900, 100, 13],
      );
      const steps = await index.maintain(base);
      assert.ok(steps.includes('buildVectors') && steps.includes('buildLookups'), steps.join());
      assert.deepEqual(await matching(), matches);
      for (const [i, near] of (await nearest()).entries()) {
        assert.ok(near.filter((id) => exact[i]?.includes(id)).length >= 9, `${i}: ${near}, and not ${exact[i]}`);
      }
    });

    it('returns no deleted and all new rows before the indexes are updated', async () => {
      await index.remove(base, ['doc_77']);
      await put(base, [chunk({ id: 'new', text: 'word', at: query, fields: { tags: ['t3'] } })]);
      const [all = [], tagged = [], , , , gone = []] = await matching();
      assert.equal(all.length, ROWS - 13 + 1);
      assert.ok(tagged.includes('new'));
      assert.deepEqual(gone, []);
      assert.deepEqual(await idsOf(base, { vector: query, limit: 1 }), ['new']);
    });
  });
});
