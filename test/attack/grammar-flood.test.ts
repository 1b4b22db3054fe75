/**
 * One organization floods the grammar compiler with expensive schemas; other organizations and plain chats do not wait
 * for it.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Service, startService, useService } from '../spawned-service.ts';
import { scaled } from './scale.ts';

/** Bound for a request of another organization beside a flood, beyond its time without one. */
const MAX_DELAY_MS = 1_500;
/** A failed attack is repeated, because noise of a shared machine does not recur. */
const TRIES = 3;
const SAMPLES = scaled(10, 3);
/** Time between two of them, in which compilations of the flood end and others start. */
const PAUSE_MS = 300;
const FLOOD = scaled(30, 12);

const service = useService();
const keys = { hostile: '', quiet: '' };

let nonce = 0;
type Schema = Record<string, unknown>;

/** Texts with a pattern and a length: a large automaton for each. */
const texts = (count: number, maxLength: number): Schema => ({
  type: 'object',
  properties: Object.fromEntries(
    Array.from({ length: count }, (_, i) => [
      `p${i}`,
      { type: 'string', pattern: '^[a-z]+( [a-z]+)*$', maxLength: maxLength + i },
    ]),
  ),
});

/** Floods by name: the n-th schema of each. All differ, so that no cache helps. */
const FLOODS: Record<string, (n: number) => Schema> = {
  'schemas that take longer than the limit': (n) => texts(600, 2_000 + n),
  'schemas that take a second': (n) => texts(30, 2_000 + n),
  'alternatives of arrays': (n) => ({
    anyOf: Array.from({ length: 64 }, (_, i) => ({
      type: 'array',
      items: { type: 'string', maxLength: 100 + i + n },
      minItems: i,
    })),
  }),
  'absurd lengths': (n) => ({ type: 'string', maxLength: 1_000_000_000 + n }),
  'absurd numbers of items': (n) => ({ type: 'array', items: { type: 'integer' }, maxItems: 1_000_000_000 + n }),
  'grammars of a million elements': (n) => ({
    type: 'object',
    properties: Object.fromEntries(
      Array.from({ length: 220 }, (_, i) => [`p${i}`, { type: 'string', maxLength: 1_000 + n + i }]),
    ),
    required: Array.from({ length: 220 }, (_, i) => `p${i}`),
    additionalProperties: false,
  }),
};

function post(key: string, body: object, signal?: AbortSignal, { url }: Pick<Service, 'url'> = service) {
  return fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'instruct-7b',
      messages: [{ role: 'user', content: 'Hello' }],
      max_tokens: 8,
      ...body,
    }),
    signal: signal ?? null,
  });
}

const jsonFormat = (schema: Schema) => ({
  response_format: { type: 'json_schema', json_schema: { name: 'x', strict: true, schema } },
});
const quietSchema = (): Schema => ({
  type: 'object',
  properties: { [`key${nonce++}`]: { type: 'integer', minimum: 1, maximum: 9 } },
  additionalProperties: false,
});
const QUIET_REQUESTS: Record<string, () => object> = {
  'structured output': () => jsonFormat(quietSchema()),
  'a tool call': () => ({
    tools: [{ type: 'function', function: { name: `f${nonce}`, parameters: quietSchema() } }],
    tool_choice: 'required',
  }),
  'a plain chat': () => ({}),
};

/** Longest time of a request of the quiet organization in milliseconds. */
async function quietMs(body: () => object, signal: AbortSignal): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < SAMPLES; i++) {
    const started = performance.now();
    const response = await post(keys.quiet, body(), signal);
    const text = await response.text();
    times.push(performance.now() - started);
    assert.equal(response.status, 200, text);
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
  return Math.max(...times);
}

describe('a flood of schemas', () => {
  const over = new AbortController();
  after(() => over.abort());
  before(async () => {
    for (const name of ['hostile', 'quiet'] as const) {
      assert.equal((await service.quire('orgs', 'create', name)).code, 0);
      const created = await service.quire('keys', 'create', '--org', name, '--json');
      assert.equal(created.code, 0, created.stderr);
      keys[name] = (JSON.parse(created.stdout) as { key: string }).key;
    }
  });
  for (const [flood, schemaOf] of Object.entries(FLOODS)) {
    for (const [name, body] of Object.entries(QUIET_REQUESTS)) {
      it(`${flood}: ${name} of another organization does not wait`, async (t) => {
        const alone = await quietMs(body, over.signal);
        let beside = Number.POSITIVE_INFINITY;
        const statuses = new Map<number, number>();
        for (let attempt = 1; attempt <= TRIES && beside > alone + MAX_DELAY_MS; attempt++) {
          const stop = new AbortController();
          const attack = Array.from({ length: FLOOD }, async () => {
            const response = await post(keys.hostile, jsonFormat(schemaOf(nonce++)), stop.signal).catch(() => null);
            if (response !== null) statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
          });
          // The compiler begins with the flood.
          await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
          beside = await quietMs(body, over.signal);
          stop.abort();
          await Promise.all(attack);
        }
        t.diagnostic(`${beside.toFixed(0)} ms, ${alone.toFixed(0)} ms alone; flood ${JSON.stringify([...statuses])}`);
        assert.ok(beside <= alone + MAX_DELAY_MS, `${beside} ms, ${alone} ms alone`);
      });
    }
  }
});

describe('a model that is not loaded yet', () => {
  /** Time of a plain chat that loads the model of a new service, beside a schema that arrived before. */
  async function firstChatMs(schema: Schema | null): Promise<number> {
    const fresh = await startService();
    const leaving = new AbortController();
    const other = schema === null ? null : post(fresh.key, jsonFormat(schema), leaving.signal, fresh).catch(() => null);
    const started = performance.now();
    const response = await post(fresh.key, {}, undefined, fresh);
    await response.text();
    const ms = performance.now() - started;
    assert.equal(response.status, 200);
    leaving.abort();
    await other;
    await fresh.kill();
    return ms;
  }

  it('a plain chat does not wait for a compilation', async (t) => {
    const alone = await firstChatMs(null);
    let beside = Number.POSITIVE_INFINITY;
    for (let attempt = 1; attempt <= TRIES && beside > alone + MAX_DELAY_MS; attempt++) {
      beside = await firstChatMs(texts(600, 2_000));
    }
    t.diagnostic(`${beside.toFixed(0)} ms, ${alone.toFixed(0)} ms alone`);
    assert.ok(beside <= alone + MAX_DELAY_MS, `${beside} ms, ${alone} ms alone`);
  });
});
