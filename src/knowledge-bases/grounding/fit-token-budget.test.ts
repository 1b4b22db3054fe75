import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Registry } from 'prom-client';
import { scriptedEngine, servedModel } from '../../../test/scripted-engine.ts';
import { ModelRegistry, type ServedModel } from '../../engines/registry.ts';
import { type Call, serviceCaller } from '../../lib/caller.ts';
import type { RetrievalDeps } from '../retrieval/retrieve.ts';
import { documentBudget } from './document-budget.ts';
import { fitTokenBudget, wholeChunksWithin } from './fit-token-budget.ts';
import type { ContextChunk } from './gather-context.ts';
import { CONTEXT_INSTRUCTION_TOKENS, documentTokens, fenceTokens, renderContext } from './render-context.ts';
import { listSentences, selectSentences } from './select-sentences.ts';
import { withoutSpecialTokens } from './special-tokens.ts';
import { estimatePromptTokens, estimateTokens } from './token-estimate.ts';

/** The used part of a chunk. */
const chunkOf = (text: string, documentName = 'a.txt'): ContextChunk =>
  ({ text, documentName, headingPath: [] as string[], score: 0.5 }) as ContextChunk;

describe('listSentences and selectSentences', () => {
  const chunks = [
    chunkOf('One is here.\nTwo is here. Three is here. Four is here. Five is here.'),
    chunkOf('Five is here. Six is here.'),
  ];
  const sentences = listSentences(chunks, 100);
  const chosen = (wanted: readonly string[], budget = 1_000) => {
    const scores = sentences.map(({ text }) => (wanted.some((word) => text.startsWith(word)) ? 1 : 0));
    return selectSentences(chunks, sentences, scores, { budget, chunkCost: () => 10 }).map(({ text }) => text);
  };

  it('lists each sentence once, in order', () => {
    const first = sentences.map(({ text }) => text.split(' ')[0]);
    assert.deepEqual(first, ['One', 'Two', 'Three', 'Four', 'Five', 'Six']);
  });
  it('keeps the order and marks omissions', () => {
    const costOfTwo = 10 + 4 + 2 * (4 + 5);
    assert.deepEqual(chosen(['Two', 'Four'], costOfTwo), ['[...] Two is here. [...] Four is here. [...]']);
    assert.deepEqual(chosen(['One', 'Two'], costOfTwo), ['One is here.\nTwo is here. [...]']);
  });
  it('keeps text order regardless of scores', () => {
    const scores = sentences.map(({ text }) => (text.startsWith('Four') ? 2 : text.startsWith('Two') ? 1 : 0));
    const [chunk] = selectSentences(chunks, sentences, scores, { budget: 10 + 4 + 2 * (4 + 5), chunkCost: () => 10 });
    assert.equal(chunk?.text, '[...] Two is here. [...] Four is here. [...]');
  });
  it('separates sentences by one space, without a mark for trailing white space', () => {
    const spaced = [chunkOf('One is here.   Two is here. \n')];
    const all = listSentences(spaced, 100);
    const [chunk] = selectSentences(spaced, all, [1, 1], { budget: 1_000, chunkCost: () => 10 });
    assert.equal(chunk?.text, 'One is here. Two is here.');
  });
  it('counts the fences of several chunks', () => {
    const costOfBoth = 2 * (10 + 4 + 4 + 4);
    assert.deepEqual(chosen(['One', 'Six'], costOfBoth), ['One is here. [...]', '[...] Six is here.']);
    assert.deepEqual(chosen(['One', 'Six'], costOfBoth - 1).length, 1);
  });
  it('selects nothing without room', () => {
    assert.deepEqual(chosen(['One'], 12), []);
  });
  it('splits long sentences without losing or splitting characters', () => {
    const text = `${'word '.repeat(300)}${'😀'.repeat(700)}`;
    const pieces = listSentences([chunkOf(text)], 100);
    assert.ok(pieces.length > 3);
    assert.ok(pieces.every((piece) => piece.text.length <= 600 && piece.text.isWellFormed()));
    assert.equal(
      pieces
        .map((piece) => piece.text)
        .join('')
        .replaceAll(' ', ''),
      text.replaceAll(' ', ''),
    );
    const scores = pieces.map(() => 1);
    const [whole] = selectSentences([chunkOf(text)], pieces, scores, { budget: 10_000, chunkCost: () => 1 });
    assert.equal(whole?.text, text);
  });
  it('lists up to a maximum', () => {
    const many = chunkOf(Array.from({ length: 2_000 }, (_, i) => `This is number ${i}.`).join(' '));
    assert.equal(listSentences([many], 64).length, 64);
  });
});

describe('documentBudget', () => {
  it('is the remaining context, at most half of it, at least 0', () => {
    const budget = (contextTokens: number, conversationTokens: number, maxTokens: number | null) =>
      documentBudget({ contextTokens, conversationTokens, maxTokens });
    assert.equal(budget(1_000, 100, 600), 300);
    assert.equal(budget(1_000, 100, 100), 500);
    assert.equal(budget(1_000, 400, null), 300);
    assert.equal(budget(2_000, 1_000, null), 500);
    assert.equal(budget(1_000, 1_200, 100), 0);
    assert.equal(budget(1_000_000, 100, 100), 8_000);
  });
  it('is a quarter of the remaining context when max_tokens is the whole context', () => {
    assert.equal(documentBudget({ contextTokens: 1_000, conversationTokens: 200, maxTokens: 1_000 }), 200);
  });
  it('is unused below 50 tokens', async () => {
    const call = { caller: {}, requestId: 'req_1', endpoint: '/' } as unknown as Call;
    const asked = { query: 'x', signal: new AbortController().signal };
    const chunk = chunkOf('x');
    // Everything fits, so the reranker is not called.
    const fit = fitTokenBudget({} as RetrievalDeps, call, [chunk], asked);
    assert.deepEqual([await fit(49), await fit(50)], [[], [chunk]]);
  });
  it('selects the best whole chunks that fit with their fences', () => {
    const [long, short] = [chunkOf('x'.repeat(300)), chunkOf('y'.repeat(30))];
    assert.deepEqual(wholeChunksWithin([long, short], documentTokens(long) + documentTokens(short)), [long, short]);
    assert.deepEqual(wholeChunksWithin([long, short], documentTokens(long) - 1), [short]);
    assert.deepEqual(wholeChunksWithin([long, short], 0), []);
  });
  it('is an upper bound of the rendered tokens', () => {
    const messages = [{ role: 'user' as const, content: 'What is this?' }];
    const chunks = [chunkOf('Ein Stück Text mit Umlauten äöü.'), chunkOf('日本語の文。'), chunkOf('😀😀')];
    const prompt = (shown: ContextChunk[]) => ({
      messages: renderContext(messages, { chunks: shown, isFound: true }),
      tools: [],
    });
    const cost = chunks.reduce((sum, chunk) => sum + documentTokens(chunk), 0);
    assert.ok(estimatePromptTokens(prompt(chunks)) <= estimatePromptTokens(prompt([])) + cost);
    assert.ok(fenceTokens(chunkOf('x', 'n'.repeat(5_000))) < 200);
  });
  it('counts template overhead of messages, tool calls and tools', () => {
    const tool_calls = [{ id: 'c', type: 'function' as const, function: { name: 'f', arguments: '{}' } }];
    const tokens = (text: string) => Math.ceil(text.length / 3);
    const messages = [
      { role: 'user' as const, content: 'abcdef' },
      { role: 'assistant' as const, content: 'abc', tool_calls },
    ];
    const ofMessages = 16 + 8 + 2 + 8 + 1 + tokens(JSON.stringify(tool_calls));
    assert.equal(estimatePromptTokens({ messages, tools: [] }), ofMessages);
    const tools = [{ type: 'function' as const, function: { name: 'f', description: 'x'.repeat(300) } }];
    assert.equal(estimatePromptTokens({ messages, tools }), ofMessages + tokens(JSON.stringify(tools)));
  });
  it('counts the instructions and the text for missing documents', () => {
    const messages = [
      { role: 'system' as const, content: 'Be brief.' },
      { role: 'user' as const, content: 'What is this?' },
    ];
    const written = renderContext(messages, { chunks: [], isFound: true });
    const added =
      estimatePromptTokens({ messages: written, tools: [] }) - estimatePromptTokens({ messages, tools: [] });
    assert.ok(added <= CONTEXT_INSTRUCTION_TOKENS, `${added} tokens`);
  });
  it('counts more tokens for letters beyond ASCII', () => {
    assert.deepEqual(['', 'abc', 'abcd', 'äö', '日本', '😀'].map(estimateTokens), [0, 1, 2, 2, 3, 2]);
  });
});

describe('fitTokenBudget without a reranker', () => {
  const long = chunkOf('One is here. Two is here. Three is here. Four is here.'.repeat(5));
  const short = chunkOf('Five is here.');
  const call: Call = {
    caller: serviceCaller('org_1', 'key_1'),
    requestId: 'req_1',
    endpoint: '/',
    priority: 'interactive',
  };
  const deps = (models: ServedModel[]) =>
    ({
      models: new ModelRegistry(models),
      metrics: new Registry(),
      now: Date.now,
      reserve: () => null,
      recordUsage: async () => {},
    }) as unknown as RetrievalDeps;

  it('returns whole chunks, else the beginning of the best one', async () => {
    const query = { query: 'x', signal: new AbortController().signal };
    const fit = (found: ContextChunk[]) => fitTokenBudget(deps([]), call, found, query)(60);
    assert.deepEqual(await fit([long, short]), [short]);
    const [beginning, ...others] = await fit([long, { ...long, text: `Other. ${long.text}` }]);
    assert.match(beginning?.text ?? '', /^One is here\..* \[\.\.\.\]$/);
    assert.deepEqual(others, []);
  });

  it('stops after an abort', async () => {
    const controller = new AbortController();
    const rerank = {
      backend: () => ({ engine: 'local', model: 'm', parameters: 1, ready: true }),
      rerank: async () => {
        controller.abort(new Error('the caller left'));
        throw controller.signal.reason;
      },
    };
    const model = { ...servedModel(scriptedEngine()), id: 'reranker-v2-m3', engine: null, rerank };
    const fit = fitTokenBudget(deps([model as unknown as ServedModel]), call, [long], {
      query: 'x',
      signal: controller.signal,
    });
    await assert.rejects(fit(60), /the caller left/);
  });
});

describe('withoutSpecialTokens', () => {
  for (const text of [
    '<|im_start|>',
    '<|eot_id|>',
    '<|turn>',
    '<turn|>',
    '<｜begin▁of▁sentence｜>',
    '</s>',
    '<s>',
    '<bos>',
    '<end_of_turn>',
    '<EOS_TOKEN>',
    '<<SYS>>',
    '<</SYS>>',
    '[INST]',
    '[/INST]',
    '[SYSTEM_PROMPT]',
  ]) {
    it(`changes only the control token in '${text}'`, () => {
      const plain = withoutSpecialTokens(`a ${text} b`);
      assert.ok(!plain.includes(text));
      assert.equal(plain.replaceAll(' ', ''), `a${text}b`);
    });
  }
  it('keeps other text', () => {
    const code = 'x |> f <| y; a[i] = <b>1</b>; [inst](url) is [INSTANCE] < |z|';
    assert.equal(withoutSpecialTokens(code.replace('[inst]', '[other]')), code.replace('[inst]', '[other]'));
  });
  it('takes linear time', () => {
    const text = '<|<<|'.repeat(200_000);
    assert.equal(withoutSpecialTokens(text), text);
  });
});
