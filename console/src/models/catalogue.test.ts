import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type CatalogueSources, checkFit, estimateRemaining, listCatalogue, type Pull } from './catalogue.ts';

const stored = { name: 'cat', bytes: 9, from: null, use: null, architecture: null, license: null };
const known = (name: string) => ({
  name,
  approximate_bytes: 10,
  memory_bytes: 12,
  parameters: 5,
  context_length: 8192,
  license: 'MIT',
  suits: ['general-8b'],
  note: 'Note.',
});
const pull = (name: string, state: Pull['state']) =>
  ({
    name,
    from: `hf:a/b/${name}.gguf`,
    state,
    received_bytes: 4,
    total_bytes: 20,
    detail: null,
    location: 'a:/m',
  }) as Pull;
const list = (sources: Partial<Omit<CatalogueSources, 'files'>> & { files?: Partial<CatalogueSources['files']> }) =>
  listCatalogue({
    ...{ pulls: [], models: [], engines: [], ...sources },
    files: { data: [], unfinished: [], available: [], ...sources.files },
  });

describe('listCatalogue', () => {
  it('lists every model once: pulls first, then stored models', () => {
    const models = list({
      files: {
        data: [{ ...stored, parameters: null, context_length: null }],
        unfinished: [{ name: 'half', bytes: 4 }],
        available: [known('other'), known('cat'), known('half'), known('busy')],
      },
      pulls: [pull('half', 'cancelled'), pull('busy', 'pulling'), pull('cat', 'completed')],
    });
    assert.deepEqual(
      models.map(({ name, state, pull }) => [name, state, pull?.state ?? null]),
      [
        ['busy', 'pulling', 'pulling'],
        ['cat', 'stored', null],
        ['half', 'partial', 'cancelled'],
        ['other', 'available', null],
      ],
    );
    assert.deepEqual(models[1] && [models[1].bytes, models[1].parameters, models[1].license], [9, 5, 'MIT']);
  });

  it('shows the latest pull of a name, and models that no list knows', () => {
    const [one, ...others] = list({ pulls: [pull('hf', 'failed'), pull('hf', 'pulling')] });
    assert.deepEqual([one?.state, one?.bytes, one?.note, others], ['pulling', 20, null, []]);
  });

  it('takes the source of a pull from the name or the latest pull, and has none for partial files of unknown origin', () => {
    const unfinished = ['known', 'pulled', 'lost'].map((name) => ({ name, bytes: 1 }));
    const models = list({ files: { unfinished, available: [known('known')] }, pulls: [pull('pulled', 'cancelled')] });
    const sources = new Map(models.map(({ name, source }) => [name, source]));
    assert.deepEqual(Object.fromEntries(sources), { known: 'known', pulled: 'hf:a/b/pulled.gguf', lost: null });
  });

  it('names the ids that are bound to a model, and its memory while it is loaded', () => {
    const files = { data: [{ ...stored, parameters: 1, context_length: 1 }] };
    const models = [
      { id: 'a', stored_model: 'cat' },
      { id: 'b', stored_model: null },
    ];
    const engine = { models: ['a'], engine: 'local' as const, state: 'ready' as const, memory_bytes: 7 };
    const [loaded] = list({ files, models, engines: [engine] });
    assert.deepEqual([loaded?.boundTo, loaded?.loadedBytes], [['a'], 7]);
    for (const other of [
      { ...engine, state: 'not loaded' as const },
      { ...engine, models: ['b'] },
      { ...engine, engine: 'upstream' as const },
    ])
      assert.equal(list({ files, models, engines: [other] })[0]?.loadedBytes, null);
  });
});

describe('checkFit', () => {
  it('compares with the free and the whole memory, at the edges', () => {
    const machine = { memory_bytes: 20, free_memory_bytes: 10 };
    const fit = (memoryBytes: number | null) => checkFit({ memoryBytes }, machine);
    assert.deepEqual([10, 11, 20, 21, null].map(fit), ['fits', 'tight', 'tight', 'tooLarge', null]);
  });
});

describe('estimateRemaining', () => {
  it('counts from the first sample, so that a resumed part does not speed it up', () => {
    assert.equal(estimateRemaining(100, { bytes: 50, at: 1_000 }, { bytes: 60, at: 3_000 }), 8_000);
    assert.equal(estimateRemaining(100, { bytes: 50, at: 1_000 }, { bytes: 50, at: 3_000 }), null);
    assert.equal(estimateRemaining(null, { bytes: 50, at: 1_000 }, { bytes: 60, at: 3_000 }), null);
  });
});
