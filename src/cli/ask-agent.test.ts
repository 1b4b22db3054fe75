import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { ApiClient } from './api-client.ts';
import { askAgent } from './ask-agent.ts';

const question = { model: 'general-8b', question: 'When?', instructions: undefined, knowledgeBaseId: 'kb_1' };
const search = {
  type: 'file_search_call',
  queries: ['opening\nhours'],
  results: [{ document_name: 'a.md' }, { document_name: 'a.md' }],
};
const message = { type: 'message', content: [{ annotations: [{ document_name: 'a.md' }] }] };

/** Runs the command on a stream of these events; returns the request and what is printed. */
async function ask(t: TestContext, events: object[]): Promise<{ printed: string; body: unknown }> {
  let printed = '';
  let body: unknown;
  const print = (text: string) => {
    printed += text;
    return true;
  };
  t.mock.method(process.stdout, 'write', print);
  t.mock.method(console, 'log', (text: string) => print(`${text}\n`));
  t.mock.method(console, 'error', (text: string) => print(`${text}\n`));
  const send = async (_method: string, _path: string, sent?: object) => {
    body = sent;
    return new Response(`${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')}data: [DONE]\n\n`);
  };
  try {
    await askAgent({ send } as unknown as ApiClient, question);
  } finally {
    t.mock.restoreAll();
  }
  return { printed, body };
}

describe('quire ask --agent', () => {
  it('prints each search, the answer and its sources', async (t) => {
    const { printed, body } = await ask(t, [
      { type: 'response.output_item.done', item: search },
      { type: 'response.output_text.delta', delta: 'At ' },
      { type: 'response.output_text.delta', delta: 'nine.' },
      { type: 'response.output_text.done' },
      { type: 'response.output_item.done', item: message },
      { type: 'response.incomplete', response: { error: null, incomplete_details: { reason: 'max_turns' } } },
    ]);
    const answer = 'At nine.\nThe answer is incomplete: max_turns.\n\nSources: a.md\n';
    assert.equal(printed, `Search: opening hours\n  -> a.md\n\n${answer}`);
    assert.deepEqual(body, {
      model: 'general-8b',
      input: 'When?',
      stream: true,
      tools: [{ type: 'file_search', file_search: { knowledge_base_ids: ['kb_1'] } }, { type: 'query_table' }],
    });
  });

  it('fails with the error of a response that failed, or of a frame', async (t) => {
    const failed = { type: 'response.failed', response: { error: { message: 'It is away.' } } };
    await assert.rejects(ask(t, [failed]), /It is away/);
    await assert.rejects(ask(t, [{ error: { message: 'It broke.' } }]), /It broke/);
  });
});
