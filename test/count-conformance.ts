/** What `GenerationEngine.countTokens` promises: the prompt tokens that `generate` reports. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { ChatMessage, ChatPrompt, GenerationEngine } from '../src/engines/engine.ts';
import { chatRequest, collectGeneration } from './engine-conformance.ts';

const never = new AbortController().signal;
const tools: ChatPrompt['tools'] = [
  { type: 'function', function: { name: 'weather', parameters: { type: 'object', properties: {} } } },
];
const user = (content: string): ChatMessage => ({ role: 'user', content });
const chat = (messages: ChatMessage[], more: Partial<ChatPrompt> = {}): ChatPrompt => ({
  ...{ kind: 'chat', messages, tools: [], toolChoice: 'none', parallelToolCalls: true },
  ...more,
});

const PROMPTS: Record<string, ChatPrompt> = {
  'one message': chat([user('Hello, "world"!\n')]),
  'other scripts': chat([user('\u6771\u4eac\u306e\u5929\u6c17 \u{1f600} \u0645\u0631\u062d\u0628\u0627')]),
  'several messages': chat([
    { role: 'system', content: 'Be short.' },
    user('One'),
    { role: 'assistant', content: 'Two' },
    user('Three'),
  ]),
  tools: chat([user('Is it warm?')], { tools, toolChoice: 'auto' }),
  'tools that may not be called': chat([user('Is it warm?')], { tools }),
};

/**
 * Registers the suite for an engine that is started once. `approximate`: it computes other prompts than it was sent.
 */
export function countConformance(
  name: string,
  start: () => Promise<GenerationEngine>,
  { approximate = false } = {},
): void {
  describe(`${name} counts the tokens of prompts`, () => {
    let engine: GenerationEngine;
    const count = (prompt: ChatPrompt, signal = never) => engine.countTokens?.(prompt, 'org_count', signal);
    before(async () => {
      engine = await start();
    });
    after(() => engine.close());

    for (const [what, prompt] of Object.entries(PROMPTS)) {
      it(`${what}: ${approximate ? 'about ' : ''}as a generation reports`, async () => {
        const counted = (await count(prompt)) ?? 0;
        const { usage } = await collectGeneration(engine, chatRequest('', { prompt, maxTokens: 1 }));
        if (!approximate) assert.equal(counted, usage.promptTokens);
        else assert.ok(counted > 0 && Math.abs(counted - usage.promptTokens) <= 0.5 * usage.promptTokens, `${counted}`);
      });
    }

    it('of prompts that are longer than the context, without an error', async () => {
      const context = engine.contextLength() ?? 0;
      const counted = (await count(chat([user('one two '.repeat(context))]))) ?? 0;
      assert.ok(counted > context, `${counted}`);
    });

    it('while it generates, and of several prompts at a time', async () => {
      const generation = collectGeneration(engine, chatRequest('Hello', { maxTokens: 24 }));
      const counts = await Promise.all(Object.values(PROMPTS).map((prompt) => count(prompt)));
      for (const [index, prompt] of Object.values(PROMPTS).entries()) assert.equal(counts[index], await count(prompt));
      await generation;
    });

    it('throws the reason of an aborted signal', async () => {
      const reason = new Error('gone');
      await assert.rejects(async () => count(chat([user('Hello')]), AbortSignal.abort(reason)), reason);
    });
  });
}
