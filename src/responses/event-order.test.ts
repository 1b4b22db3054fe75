import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { withDeadline } from '../../test/deadline.ts';
import { bundledEmbedder, embeddedBy } from '../../test/embedder.ts';
import { useApi } from '../../test/harness.ts';
import { calls, playTurns, type ScriptedTurn, says, thinks } from '../../test/response-turns.ts';
import { engineUnavailable } from '../errors.ts';
import { SseParser } from '../lib/sse-parser.ts';
import type { ResponseEvent } from './event-schema.ts';
import type { OutputItem } from './item-schema.ts';
import type { ResponseResource } from './schema.ts';

const RUNS = 60;
const SEED = 16;

/** Mulberry32: a random number generator with a seed. */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let value = Math.imul(state ^ (state >>> 15), 1 | state);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** What a client knows from the events alone. Throws where an event breaks the order. */
class Accumulator {
  readonly items: OutputItem[] = [];
  readonly open = new Map<number, { id: string; text: string; isTextDone: boolean }>();
  id: string | null = null;
  last: ResponseResource | null = null;
  #next = 0;

  add(event: ResponseEvent): void {
    assert.equal(event.sequence_number, this.#next++, 'sequence numbers are contiguous');
    assert.equal(this.last, null, 'nothing follows the last event');
    assert.equal(this.id === null, event.type === 'response.created', 'the first event, and no other, is created');
    switch (event.type) {
      case 'response.created':
        this.id = event.response.id;
        assert.deepEqual([event.response.status, event.response.output], ['incomplete', []]);
        return;
      case 'response.output_item.added':
        assert.equal(event.output_index, this.items.length, 'positions are contiguous');
        this.items.push(event.item);
        this.open.set(event.output_index, { id: event.item.id, text: '', isTextDone: false });
        return;
      case 'response.output_text.delta':
      case 'response.output_text.done': {
        const open = this.open.get(event.output_index);
        assert.ok(open !== undefined && open.id === event.item_id && !open.isTextDone);
        if (event.type === 'response.output_text.delta') open.text += event.delta;
        else {
          assert.equal(event.text, open.text);
          open.isTextDone = true;
        }
        return;
      }
      case 'response.output_item.done': {
        const open = this.open.get(event.output_index);
        assert.ok(open !== undefined && open.id === event.item.id, 'only an open item is finished');
        this.open.delete(event.output_index);
        this.items[event.output_index] = event.item;
        if (event.item.type !== 'message') return;
        assert.ok(open.isTextDone);
        assert.equal(event.item.content[0]?.text, open.text);
        return;
      }
      default:
        assert.ok('response' in event);
        assert.equal(event.type, `response.${event.response.status}`);
        assert.equal(this.open.size, 0, 'every item is finished');
        assert.deepEqual(event.response.output, this.items);
        this.last = event.response;
    }
  }
}

describe('the events of POST /v1/responses', () => {
  const embedder = bundledEmbedder();
  after(() => embedder.close());
  const api = useApi(embeddedBy(embedder));
  const random = randomNumbers(SEED);
  const below = (count: number) => Math.floor(random() * count);
  const oneOf = <T>(values: readonly T[]): T => values[below(values.length)]!;

  const randomTurn = (): ScriptedTurn => {
    if (random() < 0.08) return engineUnavailable('It is away.', 1);
    const call = (): [string, object] =>
      random() < 0.6
        ? ['file_search', { query: oneOf(['a', 'b', 'c', 'd', 'e']) }]
        : ['weather', { city: oneOf(['x', 'y']) }];
    const wanted = Array.from({ length: below(4) }, call);
    const text = says(
      Array.from({ length: below(5) }, () => oneOf(['one', 'two', 'three'])).join(' '),
      oneOf(['stop', 'length']),
    );
    const made = calls(...wanted);
    // Some models write text between calls.
    const between = text.slice(0, random() < 0.3 ? 1 : 0).filter(({ type }) => type === 'text-delta');
    const parts = [...made.slice(0, 3), ...between, ...made.slice(3)];
    const events = wanted.length === 0 ? text : [...text.slice(0, -1), ...parts];
    return random() < 0.4 ? thinks('Hm.', events) : events;
  };

  /** Reads events; disconnects after `limit` of them. */
  const read = async (body: object, limit: number): Promise<Accumulator | null> => {
    const answer = await fetch(`${api.url}/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${api.key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (answer.status !== 200) return null;
    const accumulator = new Accumulator();
    const parser = new SseParser();
    let count = 0;
    for await (const bytes of answer.body!) {
      for (const data of parser.push(bytes)) {
        if (data === '[DONE]') return accumulator;
        const event = JSON.parse(data) as ResponseEvent;
        accumulator.add(event);
        count += 1;
        // Leaving the loop closes the connection.
        if (count === limit) return accumulator;
      }
    }
    return accumulator;
  };

  /** A response that its client has left is stored when its loop has stopped. */
  const stored = async (id: string): Promise<ResponseResource> => {
    for (;;) {
      const { status, json } = await api.send('GET', `/v1/responses/${id}`);
      if (status === 200) return json;
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  };

  it(`equal the stored response in ${RUNS} random loops with failures and disconnects`, async () => {
    const { json: base } = await api.send('POST', '/v1/knowledge-bases', { body: { name: 'Empty' } });
    const search = { type: 'file_search', file_search: { knowledge_base_ids: [base.id], search_type: 'keyword' } };
    const tools = [search, { type: 'function', name: 'weather' }];
    const ends = new Map<string, number>();
    for (let i = 0; i < RUNS; i += 1) {
      playTurns(api.engine, ...Array.from({ length: 1 + below(5) }, randomTurn));
      const limit = random() < 0.3 ? 1 + below(6) : Number.POSITIVE_INFINITY;
      const body = { model: 'general-8b', input: 'x', tools, stream: true, max_turns: 1 + below(6) };
      const seen = await withDeadline('the stream', read(body, limit));
      if (seen?.id == null) continue;
      const response = await withDeadline('the stored response', stored(seen.id));
      ends.set(response.status, (ends.get(response.status) ?? 0) + 1);
      if (seen.last !== null) assert.deepEqual(response, seen.last);
      // A client that left knows a part of what is stored.
      for (const [index, item] of seen.items.entries()) {
        assert.equal(response.output[index]?.id, item.id);
        if (!seen.open.has(index)) assert.deepEqual(response.output[index], item);
      }
    }
    assert.deepEqual([...ends.keys()].toSorted(), ['completed', 'failed', 'incomplete'], 'every end has occurred');
  });
});
