import '../../test/browser-globals.ts';
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Schema } from '../api/types.ts';
import { sampleRequest } from './curl-template.ts';
import { formatColumns, isFiltered, NO_FILTERS, parseColumns, parseRequestSearch, toQuery } from './request-search.ts';
import { placeBar, toBars } from './timeline.ts';

const DETAIL = {
  duration_ms: 100,
  queue_ms: 0,
  first_token_ms: null,
  steps: [],
} as unknown as Schema<'LoggedRequestDetail'>;
const step = (type: string, start: number, duration: number) =>
  ({ type, name: 'a', start_ms: start, duration_ms: duration }) as (typeof DETAIL)['steps'][number];

describe('the search of the requests page', () => {
  it('keeps valid parameters and drops others', () => {
    const valid = {
      period: '7d',
      status: '429',
      min: '5000',
      q: 'x',
      request: `req_${'0'.repeat(26)}`,
      live: true,
    } as const;
    const defined = (search: object) =>
      Object.fromEntries(Object.entries(search).filter(([, value]) => value !== undefined));
    assert.deepEqual(defined(parseRequestSearch(valid)), valid);
    assert.deepEqual(defined(parseRequestSearch({ status: 429 })), { status: '429' });
    const invalid = {
      period: '2h',
      status: '3xx',
      min: '7',
      q: ' ',
      request: 'req_1',
      live: 'yes',
      order: 'desc',
      key: 5,
    };
    assert.deepEqual(defined(parseRequestSearch(invalid)), {});
  });

  it('becomes the query of the API, the last 24 hours unless a period is named', () => {
    const now = 1_000_000_500;
    assert.deepEqual(toQuery({}, now), { order: 'desc', start_time: 1_000_000 - 86_400 });
    const search = { period: '1h', status: '4xx', route: 'r', model: 'm', key: 'k', guardrail: 'blocked' } as const;
    assert.deepEqual(toQuery({ ...search, cache: 'hit', min: '1000', q: ' a ', order: 'asc' }, now), {
      ...{ order: 'asc', start_time: 996_400, status: '4xx', route: 'r', model: 'm', key_id: 'k' },
      ...{ guardrail: 'blocked', cache: 'hit', min_duration_ms: 1000, search: 'a' },
    });
  });

  it('knows which parameters are filters', () => {
    assert.equal(isFiltered({ period: '1h', live: true, request: 'req_1', columns: 'time' }), false);
    assert.equal(isFiltered({ q: 'a' }), true);
    assert.equal(isFiltered({ q: 'a', status: '4xx', ...NO_FILTERS }), false);
  });

  it('lists columns in their order, and the default ones by no parameter', () => {
    const standard = parseColumns(undefined);
    assert.deepEqual(parseColumns('cost,nonsense,time'), ['time', 'cost']);
    assert.deepEqual(parseColumns('nonsense'), standard);
    assert.equal(formatColumns(['cost', 'time']), 'time,cost');
    assert.equal(formatColumns(standard), undefined);
    assert.equal(formatColumns([]), undefined);
  });
});

describe('the timeline of a request', () => {
  it('numbers the generations among the steps', () => {
    const steps = [step('screen', 0, 2), step('chat', 2, 40), step('search', 42, 8), step('chat', 50, 50)];
    const bars = toBars({ ...DETAIL, steps });
    assert.deepEqual(
      bars.map(({ type, turn, start, duration }) => [type, turn, start, duration]),
      [
        ['screen', 0, 0, 2],
        ['chat', 1, 2, 40],
        ['search', 1, 42, 8],
        ['chat', 2, 50, 50],
      ],
    );
  });

  it('shows the phases of a single call', () => {
    const phases = (request: object) =>
      toBars({ ...DETAIL, ...request }).map(({ type, start, duration }) => [type, start, duration]);
    assert.deepEqual(phases({}), [['whole', 0, 100]]);
    assert.deepEqual(phases({ queue_ms: 10 }), [
      ['queue', 0, 10],
      ['whole', 10, 90],
    ]);
    assert.deepEqual(phases({ queue_ms: 10, first_token_ms: 30 }), [
      ['queue', 0, 10],
      ['prompt', 10, 20],
      ['decode', 30, 70],
    ]);
    assert.deepEqual(phases({ queue_ms: 40, first_token_ms: 30 }), [
      ['queue', 0, 30],
      ['decode', 30, 70],
    ]);
    assert.deepEqual(phases({ duration_ms: 0 }), []);
  });

  it('places every bar inside, and makes short ones visible', () => {
    const bar = { type: 'chat', name: '', turn: 1, start: 100, duration: 0 } as const;
    const { left, width } = placeBar(bar, 100);
    assert.ok(width > 0 && left + width <= 1);
    assert.deepEqual(placeBar({ ...bar, start: 0, duration: 200 }, 100), { left: 0, width: 1 });
  });
});

describe('the sample of a request', () => {
  it('has the fields that its route needs', () => {
    assert.deepEqual(Object.keys(sampleRequest('/v1/chat/completions', 'm') ?? {}), ['model', 'messages']);
    assert.deepEqual(Object.keys(sampleRequest('/v1/embeddings', 'm') ?? {}), ['model', 'input']);
    assert.equal(sampleRequest('/v1/knowledge-bases/:kb_id/retrieve', null), null);
  });
});
