import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { embeddedBy, recordingEmbedder } from '../../test/embedder.ts';
import { assertError, useApi } from '../../test/harness.ts';
import { usageRecords } from '../billing/tables.ts';
import { invalidValue } from '../errors.ts';
import { PASS_ALL } from '../lib/screen.ts';

describe('the content policy of inference routes', () => {
  const screened: (readonly string[])[] = [];
  const screen = {
    ...PASS_ALL,
    input: async (_call: unknown, texts: readonly string[]) => {
      screened.push(texts);
      if (texts.some((text) => text.includes('forbidden'))) throw invalidValue('messages', 'is blocked by the test');
      return null;
    },
  };
  const api = useApi({ ...embeddedBy(recordingEmbedder()), screen });
  const send = (path: string, body: object) => {
    screened.length = 0;
    return api.send('POST', path, { body });
  };

  it('sees user messages, prompts with suffixes, and texts to embed', async () => {
    const messages = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'two' },
      { role: 'user', content: 'three' },
    ];
    await send('/v1/chat/completions', { model: 'general-8b', messages });
    assert.deepEqual(screened, [['one', 'three']]);
    await send('/v1/completions', { model: 'general-8b', prompt: ['a', 'b'] });
    assert.deepEqual(screened.toSorted(), [['a'], ['b']]);
    await send('/v1/embeddings', { model: 'embed-large-en-v1.5', input: ['a', 'b'] });
    assert.deepEqual(screened, [['a', 'b']]);
  });

  it('sees no blank texts, which some moderation servers reject', async () => {
    const messages = ['', ' \n\t', 'a ', '\u3000'].map((content) => ({ role: 'user', content }));
    assert.equal((await send('/v1/chat/completions', { model: 'general-8b', messages })).status, 200);
    assert.deepEqual(screened, [['a ']]);
    const input = ['', 'forbidden'];
    assert.equal((await send('/v1/embeddings', { model: 'embed-large-en-v1.5', input })).status, 400);
    const blank = [{ role: 'user', content: ' ' }];
    assert.equal((await send('/v1/chat/completions', { model: 'general-8b', messages: blank })).status, 200);
    assert.deepEqual(screened, []);
  });

  it('blocks a call before an engine is called and before anything is billed', async () => {
    const before = [api.engine.calls.length, (await api.db.sql.select().from(usageRecords)).length];
    for (const stream of [false, true]) {
      const messages = [{ role: 'user', content: 'forbidden' }];
      assertError(
        await send('/v1/chat/completions', { model: 'general-8b', messages, stream }),
        400,
        'invalid_value',
        'messages',
      );
      // The second prompt is blocked: the first is not generated either.
      const prompt = ['a', 'forbidden'];
      assertError(
        await send('/v1/completions', { model: 'general-8b', prompt, stream }),
        400,
        'invalid_value',
        'messages',
      );
    }
    assertError(
      await send('/v1/embeddings', { model: 'embed-large-en-v1.5', input: 'forbidden' }),
      400,
      'invalid_value',
      'messages',
    );
    assert.deepEqual([api.engine.calls.length, (await api.db.sql.select().from(usageRecords)).length], before);
  });
});
