import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { buildRequest, DEFAULT_SETTINGS, type PlaygroundSettings } from './request.ts';

describe('the request of the playground', () => {
  const settings: PlaygroundSettings = { ...DEFAULT_SETTINGS, mode: 'chat', model: 'm', knowledgeBases: [] };
  const body = (changes: Partial<PlaygroundSettings>) => buildRequest({ ...settings, ...changes }, []).body;

  it('sends the parameters that are set, zero among them, and no others', () => {
    const plain = { chat: Object.keys(body({})), responses: Object.keys(body({ mode: 'responses' })) };
    assert.deepEqual(plain.chat.toSorted(), ['messages', 'model', 'stream', 'stream_options']);
    assert.deepEqual(plain.responses.toSorted(), ['input', 'model', 'store', 'stream']);
    const zero = { temperature: 0, topP: 0, maxTokens: 1, seed: 0 };
    const { temperature, top_p, max_tokens, seed } = body(zero) as Record<string, unknown>;
    assert.deepEqual([temperature, top_p, max_tokens, seed], [0, 0, 1, 0]);
    const responses = body({ ...zero, mode: 'responses' }) as Record<string, unknown>;
    assert.deepEqual([responses['temperature'], responses['top_p'], responses['max_output_tokens']], [0, 0, 1]);
  });

  it('searches the chosen knowledge bases beside the tools of the user, by either route', () => {
    const tools = JSON.stringify([{ type: 'function', function: { name: 'f' } }]);
    const chosen = { knowledgeBases: ['kb_1', 'kb_2'], tools };
    assert.deepEqual(body(chosen)['knowledge_bases'], ['kb_1', 'kb_2']);
    const { tools: sent } = body({ ...chosen, mode: 'responses' }) as {
      tools: { type: string; file_search?: object }[];
    };
    assert.deepEqual(
      sent.map(({ type }) => type),
      ['file_search', 'query_table', 'function'],
    );
    assert.deepEqual(sent[0]?.file_search, { knowledge_base_ids: ['kb_1', 'kb_2'] });
  });
});
