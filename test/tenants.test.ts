import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { BUNDLED_MODELS } from '@quire/bundled-models';
import { createLocalEngine, type LocalEngine } from '../src/engines/llama/engine/local-engine.ts';
import { createLogger } from '../src/lib/logger.ts';
import { bindCatalogue, chunks, startApi, type TestApi } from './harness.ts';

const FILE = BUNDLED_MODELS.chat.file;

/** Cache-related fields of a response. */
interface Told {
  header: string | null;
  cachedTokens: number;
  promptTokens: number;
}

describe('two organizations with equal requests', () => {
  let engine: LocalEngine;
  let api: TestApi;
  let close = async (): Promise<void> => {};
  before(async () => {
    const logger = createLogger('silent');
    const options = { file: FILE, name: 'bundled', kind: 'bundled' as const, contextTokens: 1024, logger };
    engine = createLocalEngine({ ...options, slots: 4, threads: 1 });
    await engine.check(new AbortController().signal);
    const started = await startApi({ models: () => bindCatalogue(engine) });
    api = started.api;
    close = started.close;
  });
  after(async () => {
    await close();
    await engine.close();
  });

  async function ask(key: string, content: string, stream: boolean): Promise<Told> {
    const messages = [{ role: 'user', content }];
    const options = {
      max_tokens: 4,
      temperature: 0,
      stream,
      ...(stream && { stream_options: { include_usage: true } }),
    };
    const answer = await api.send('POST', '/v1/chat/completions', {
      key,
      body: { model: 'general-8b', messages, ...options },
    });
    assert.equal(answer.status, 200, answer.text);
    const { usage } = stream ? chunks(answer.text).at(-1) : answer.json;
    return {
      header: answer.headers.get('x-cache-status'),
      cachedTokens: usage.prompt_tokens_details.cached_tokens,
      promptTokens: usage.prompt_tokens,
    };
  }

  it('are isolated: each gets the responses that it would get alone', async () => {
    const [alone, first, second] = await Promise.all(
      ['org_alone', 'org_first', 'org_second'].map(async (organization) => (await api.makeKey({ organization })).key),
    );
    for (const stream of [false, true]) {
      const passage = `The ${stream ? 'streamed' : 'whole'} passage. ${'Ships came and went all day. '.repeat(12)}`;
      const expected: Told[] = [];
      for (let round = 0; round < 3; round++) expected.push(await ask(alone ?? '', passage, stream));
      assert.deepEqual(
        expected.map(({ header }) => header),
        ['MISS', 'HIT', 'HIT'],
      );
      const seen: { first: Told[]; second: Told[] } = { first: [], second: [] };
      for (let round = 0; round < 3; round++) {
        seen.first.push(await ask(first ?? '', passage, stream));
        seen.second.push(await ask(second ?? '', passage, stream));
      }
      assert.deepEqual(seen, { first: expected, second: expected });
    }
  });
});
