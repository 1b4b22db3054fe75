/**
 * The tokens that are reserved for a prompt are never fewer than those that an engine counts, for any tokenizer and
 * template.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { BUNDLED_CHAT_FACTS, BUNDLED_MODELS, CHAT_TEMPLATE } from '@quire/bundled-models';
import { createBundledChat } from '../src/engines/bundled/bundled-chat.ts';
import { createBundledEmbedding } from '../src/engines/bundled/bundled-embedding.ts';
import { createBundledModeration } from '../src/engines/bundled/bundled-moderation.ts';
import { createBundledRerank } from '../src/engines/bundled/bundled-rerank.ts';
import { maxPrefixBytes } from '../src/engines/embedding-prefixes.ts';
import type { ChatMessage, ChatPrompt, GenerationEngine, TextPrompt } from '../src/engines/engine.ts';
import { startLocalEmbedding } from '../src/engines/llama/encoder/local-embedding.ts';
import { startLocalRerank } from '../src/engines/llama/encoder/local-rerank.ts';
import { overlappingWindows } from '../src/engines/llama/encoder/windows.ts';
import { createLocalEngine, type LocalEngineOptions } from '../src/engines/llama/engine/local-engine.ts';
import { ChatTemplate } from '../src/engines/llama/prompt/chat-template.ts';
import { SAMPLE_PROMPTS, TemplateTokens } from '../src/engines/template-tokens.ts';
import { generationBounds, rerankBounds, textBounds } from '../src/inference/cost-bounds.ts';
import { createLogger } from '../src/lib/logger.ts';
import { textRequest } from './engine-conformance.ts';
import { type ArchitectureName, writeArchitecture } from './fixtures/architectures/write-architecture.ts';
import { scriptedEngine, servedModel } from './scripted-engine.ts';
import { AWKWARD_TEXTS } from './support/awkward.ts';

const TEMPLATES = new URL('fixtures/templates/', import.meta.url);
const folder = mkdtempSync(join(tmpdir(), 'quire-bounds-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const never = new AbortController().signal;

/**
 * Texts of which tokenizers make many tokens: rare bytes, characters that normalization expands, control tokens, runs
 * of blanks.
 */
const EXTREME_TEXTS = [
  '8 chars.',
  '\ufdfa\ufdfb\ufdfd\u0958\ufb2c\u{1d160}'.repeat(5),
  '\uff21\uff21\u0958'.repeat(12),
  '<s></s><|user|><|im_start|>[INST]<bos>'.repeat(3),
  '<s>'.repeat(20),
  ' \n\t '.repeat(12),
  '\u0001\ufffdzqxj'.repeat(20),
];
const TEXTS = [...EXTREME_TEXTS, ...AWKWARD_TEXTS, '', 'a', 'ß\u0130\u0390'.repeat(9), '\u4f60\u597d\u3002'.repeat(12)];
const TOOL = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'The \u0958 weather "now".',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string', enum: ['Rome', 'K\u00f6ln'] } },
      required: ['city'],
    },
  },
} as const;
const CALL = {
  id: 'call_1',
  type: 'function',
  function: { name: 'get_weather', arguments: '{"city": "K\u00f6ln"}' },
} as const;

const plain: ChatPrompt = { kind: 'chat', messages: [], tools: [], toolChoice: 'auto', parallelToolCalls: true };

/** Conversations with a text in every role, up to ten messages. */
function conversations(text: string): ChatPrompt[] {
  const user: ChatMessage = { role: 'user', content: text };
  const assistant: ChatMessage = { role: 'assistant', content: text };
  const system: ChatMessage = { role: 'system', content: text };
  const called: ChatMessage = { role: 'assistant', content: null, tool_calls: [CALL] };
  const result: ChatMessage = { role: 'tool', content: text, tool_call_id: 'call_1' };
  const turns = [user, assistant, user, assistant, user, assistant, user, assistant, user];
  return [
    { ...plain, messages: [user] },
    { ...plain, messages: [system, user] },
    { ...plain, messages: turns },
    { ...plain, messages: [system, ...turns] },
    { ...plain, messages: [user], tools: [TOOL, { type: 'function', function: { name: 'clock' } }] },
    { ...plain, messages: [user, called, result, user], tools: [TOOL] },
  ];
}

const bound = (engine: GenerationEngine, prompt: ChatPrompt | TextPrompt): number =>
  generationBounds(servedModel(engine, 100_000), { prompt, choices: 1, maxTokens: 1, format: { type: 'text' } })
    .promptTokens;

async function countPrompt(engine: GenerationEngine, prompt: ChatPrompt | TextPrompt): Promise<number> {
  if (prompt.kind === 'chat') return (await engine.countTokens?.(prompt, 'org_1', never)) ?? assert.fail('not counted');
  for await (const event of engine.generate(textRequest('', { prompt, maxTokens: 1 }), never)) {
    if (event.type === 'usage') return event.usage.promptTokens;
  }
  throw new Error('no usage');
}

/** An engine whose chat template is known as far as `template` is. */
const engineWith = (template: TemplateTokens) => {
  const templateTokens = ({ prompt }: { prompt: ChatPrompt }) => template.bound(prompt);
  return Object.assign(scriptedEngine(), { features: () => ({ suffix: true, promptLogprobs: true, templateTokens }) });
};

describe('the bound of a prompt', () => {
  const local = (file: string, more: Partial<LocalEngineOptions> = {}) => {
    const logger = createLogger('silent');
    const options = { file, name: 'tiny', kind: 'local', contextTokens: 4_096, slots: 1, threads: 1, logger } as const;
    return createLocalEngine({ ...options, ...more });
  };
  const bundled = (more: Partial<LocalEngineOptions> = {}) => {
    const engine = local(BUNDLED_MODELS.chat.file, { template: CHAT_TEMPLATE, ...more });
    return createBundledChat({ engine, ranker: createBundledRerank(BUNDLED_MODELS.rerank) });
  };
  const engines: [name: string, start: () => Promise<GenerationEngine> | GenerationEngine][] = [
    ['the bundled model', () => bundled()],
    ['a model with SentencePiece', async () => local(await writeArchitecture(folder, 'llama-2', 'f16'))],
    ['a model with byte-level BPE', async () => local(await writeArchitecture(folder, 'qwen-3', 'f16'))],
  ];
  for (const [name, start] of engines) {
    it(`covers every prompt of ${name}, and is near to a short one`, async (t) => {
      const engine = await start();
      t.after(() => engine.close());
      await engine.check(never);
      for (const text of EXTREME_TEXTS) {
        const prompts: (ChatPrompt | TextPrompt)[] = [{ kind: 'text', text, suffix: null }, ...conversations(text)];
        for (const [at, prompt] of prompts.entries()) {
          const [tokens, reserved] = [await countPrompt(engine, prompt), bound(engine, prompt)];
          assert.ok(tokens <= reserved, `${tokens} tokens, ${reserved} reserved: ${at}, ${JSON.stringify(text)}`);
        }
      }
      const [short] = conversations('8 chars.');
      assert.ok(short);
      const [tokens, reserved] = [await countPrompt(engine, short), bound(engine, short)];
      assert.ok(reserved <= tokens + 32, `${tokens} tokens, ${reserved} reserved`);
    });
  }

  it('is the same before the bundled model is loaded', async (t) => {
    const unloaded = bundled({ keepAliveMs: 60_000, expected: BUNDLED_CHAT_FACTS });
    t.after(() => unloaded.close());
    const bounds = () => conversations('8 chars.').map((prompt) => bound(unloaded, prompt));
    const before = bounds();
    await countPrompt(unloaded, conversations('a')[0] ?? assert.fail());
    assert.deepEqual(bounds(), before);
    assert.ok((before[0] ?? 0) < 40, before.join());
  });

  for (const file of readdirSync(TEMPLATES).filter((name) => name.endsWith('.jinja'))) {
    it(`covers every prompt in the template ${file} of a server, measured or not`, () => coverTemplate(file));
  }
});

/** A server that makes a token of each byte of a text, as it is or normalized, and of three bytes of the template. */
async function coverTemplate(file: string): Promise<void> {
  const source = readFileSync(new URL(file, TEMPLATES), 'utf8');
  const template = new ChatTemplate(source, [], { bos: '<s>', eos: '</s>' });
  const countAs = (form: 'NFC' | 'NFKC') => {
    const bytes = (messages: readonly ChatMessage[], tools: ChatPrompt['tools']) =>
      Buffer.byteLength(template.render(messages, tools).text.normalize(form));
    return (messages: readonly ChatMessage[], tools: ChatPrompt['tools'] = []) => {
      const own = bytes(
        messages.map((message) => ({ ...message, content: message.content === null ? null : '' })),
        tools,
      );
      return bytes(messages, tools) - own + Math.ceil(own / 3);
    };
  };
  for (const form of ['NFC', 'NFKC'] as const) {
    const count = countAs(form);
    const measured = new TemplateTokens();
    measured.recordSamples(SAMPLE_PROMPTS.map(({ messages }) => count(messages)));
    // Knows what it has answered.
    const learned = new TemplateTokens();
    for (const prompt of TEXTS.flatMap(conversations)) {
      const tokens = count(prompt.messages, prompt.tools);
      for (const template of [measured, learned]) {
        const reserved = bound(engineWith(template), prompt);
        assert.ok(tokens <= reserved, `${tokens} tokens, ${reserved} reserved: ${JSON.stringify(prompt)}`);
      }
      learned.record(prompt, tokens);
    }
  }
}

describe('the bound of encoded texts', () => {
  it('covers the texts of the bundled models', async (t) => {
    const embedding = createBundledEmbedding(BUNDLED_MODELS.embedding);
    const moderation = createBundledModeration(BUNDLED_MODELS.moderation);
    const rerank = createBundledRerank(BUNDLED_MODELS.rerank);
    for (const engine of [embedding, moderation, rerank]) t.after(() => engine.close());
    for (const text of TEXTS) {
      const request = { texts: [text], purpose: 'text', maxTokensPerText: null, nameParam: String } as const;
      const reserved = textBounds([text]).promptTokens;
      assert.ok((await embedding.embed(request, never)).tokens <= reserved, JSON.stringify(text));
      assert.ok((await moderation.moderate([text], never)).tokens <= reserved, JSON.stringify(text));
      const { tokens } = await rerank.rerank({ query: text, documents: [text, '', text] }, never);
      assert.ok(tokens <= rerankBounds(text, [text, '', text]).promptTokens, JSON.stringify(text));
    }
  });

  it('covers windows of local models, with the longest query and with prefixes', async (t) => {
    const options = async (model: ArchitectureName, name: string) => ({
      ...{ file: await writeArchitecture(folder, model, 'f16'), name, contextTokens: 512, threads: 1 },
      logger: createLogger('silent'),
    });
    const embedding = await startLocalEmbedding(await options('bge-large', 'e5-mistral-instruct'), never);
    const rerank = await startLocalRerank(await options('bge-reranker', 'test'), never);
    const templated = await startLocalRerank(await options('qwen-3-reranker', 'test'), never);
    for (const engine of [embedding, rerank, templated]) t.after(() => engine.close());
    const text = 'x y '.repeat(260);
    const request = { texts: [text, 'a'], purpose: 'query', maxTokensPerText: null, nameParam: String } as const;
    const embedded = await embedding.embed(request, never);
    assert.ok(
      embedded.tokens > 512 && embedded.tokens <= textBounds([text, 'a'], maxPrefixBytes('query')).promptTokens,
    );
    const reserved = rerankBounds(text, [text, 'a']).promptTokens;
    for (const engine of [rerank, templated]) {
      const { tokens } = await engine.rerank({ query: text, documents: [text, 'a'] }, never);
      assert.ok(tokens > 1_024 && tokens <= reserved, `${tokens} tokens, ${reserved} reserved`);
    }
  });

  it('covers windows of any size, where each byte is a token', () => {
    for (const windowTokens of [512, 8_192]) {
      for (const added of [4, 128]) {
        const room = windowTokens - added;
        for (const query of [0, 1, Math.floor(room / 2)]) {
          for (const length of [1, room - query, room - query + 1, 2 * room, 7 * room]) {
            const windows = overlappingWindows(length, room - query);
            const tokens = windows.reduce((sum, { from, to }) => sum + added + query + to - from, 0);
            const reserved = rerankBounds('q'.repeat(query), ['d'.repeat(length)]).promptTokens;
            assert.ok(
              tokens <= reserved,
              `${tokens} tokens, ${reserved} reserved: ${[windowTokens, added, query, length]}`,
            );
          }
        }
      }
    }
  });
});
