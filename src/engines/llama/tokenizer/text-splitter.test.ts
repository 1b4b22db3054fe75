import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { BUNDLED_MODELS } from '@quire/bundled-models';
import { getLlama, type Llama, LlamaLogLevel, type LlamaModel } from 'node-llama-cpp';
import { writeTinyGguf } from '../../../../test/fixtures/tiny-gguf.ts';
import { TimeSlice } from '../../../lib/time-slices.ts';
import { LlamaTokenizer } from './llama-tokenizer.ts';
import { TextSplitter } from './text-splitter.ts';

/** Byte-level BPE with the merges and patterns of large models. */
const BUNDLED = BUNDLED_MODELS.chat.file;

/** Deterministic pseudo-random numbers below a bound. */
function drawer(seed: number): (bound: number) => number {
  let state = seed;
  return (bound) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((state / 2 ** 32) * bound);
  };
}

/** A text of randomly drawn parts, long enough to be split. */
function drawn(seed: number, parts: readonly string[], between: string): string {
  const draw = drawer(seed);
  return Array.from({ length: 6_000 }, () => parts[draw(parts.length)] ?? '').join(between);
}

const PARTS: Record<string, string[]> = {
  words: ['the', 'cat', 'sat', 'on', 'A', 'mat', 'and', 'Then', "don't", "I'LL", 'é', 'naïve', 'x', '42'],
  code: ['if (a == b) {', '\n    ', '\t', 'return x;', '}', ' ', '  ', 'const y = "a b";', '// note to self', '\n\n\n'],
  clauses: [
    '猫が',
    '座った',
    '。',
    '、',
    '他说',
    '，',
    '好的',
    '”。',
    '漢字',
    'カタカナ',
    'ー',
    '\n',
    ' ',
    '我们 去',
    'abc',
  ],
  spaces: ['a', ' ', '  ', '    ', '\n', '\n\n', 'b c', 'D', '\r\n', '\t\t'],
};

describe('TextSplitter', () => {
  const folder = mkdtempSync(join(tmpdir(), 'quire-cutter-'));
  let llama: Llama;
  const models: Record<string, LlamaModel> = {};
  before(async () => {
    llama = await getLlama({ gpu: false, build: 'never', progressLogs: false, logLevel: LlamaLogLevel.error });
    models['byte-level'] = await llama.loadModel({ modelPath: BUNDLED, gpuLayers: 0 });
    models['SentencePiece'] = await llama.loadModel({ modelPath: writeTinyGguf(join(folder, 'a')), gpuLayers: 0 });
  });
  after(async () => {
    await llama.dispose();
    rmSync(folder, { recursive: true, force: true });
  });

  for (const name of ['byte-level', 'SentencePiece']) {
    const tokenize = (text: string): readonly number[] =>
      text === '' ? [] : (models[name] as LlamaModel).tokenize(text);
    const check = (text: string): number => {
      const pieces = [...new TextSplitter(models[name] as LlamaModel, tokenize).split(text)];
      assert.deepEqual(
        pieces.flatMap((tokenText) => [...tokenize(tokenText)]),
        [...tokenize(text)],
      );
      return pieces.length;
    };
    for (const [kind, parts] of Object.entries(PARTS)) {
      it(`${name}: returns the tokens of the whole text, of ${kind}`, () => {
        // Words without spaces have no boundary.
        for (const between of kind === 'words' ? [' '] : ['', ' ']) check(drawn(7, parts, between));
      });
    }
    it(`${name}: returns the tokens of the whole text, of any characters`, () => {
      const draw = drawer(3);
      const ranges = [95, 95, 0x300, 0x3000, 0x9fff, 0x1fa00];
      const text = Array.from({ length: 20_000 }, () => String.fromCodePoint(32 + draw(ranges[draw(6)] ?? 1)));
      // Lone surrogates are not characters; they are replaced before tokenization.
      check(text.join('').toWellFormed());
    });
    it(`${name}: splits between words, and short texts not at all`, () => {
      assert.ok(check(drawn(1, PARTS['words'] ?? [], ' ')) >= 5);
      for (const text of ['x'.repeat(8_192), '']) assert.equal(check(text), 1);
    });
    it(`${name}: cuts a long text without a safe boundary, and no character`, () => {
      const splitter = new TextSplitter(models[name] as LlamaModel, tokenize);
      for (const text of [
        '漢字'.repeat(200_000),
        `a${'😀'.repeat(100_000)}`,
        `${'x'.repeat(8_192)} ${'y'.repeat(9_000)}`,
      ]) {
        const segments = [...splitter.split(text)];
        assert.ok(segments.every((segment) => segment.length <= 8_192 && segment.isWellFormed()));
        // Some tokenizers add the space before a segment themselves.
        assert.ok(segments.join('').replace(' ', '') === text.replace(' ', ''));
      }
    });
  }
  it('splits at punctuation of languages without spaces, for a byte-level vocabulary', () => {
    const model = models['byte-level'] as LlamaModel;
    const cutter = new TextSplitter(model, (text) => model.tokenize(text));
    assert.ok([...cutter.split(drawn(1, ['猫が座った。', '他说，', '日本語の文章は、長い'], ''))].length >= 5);
  });
  it('yields to the event loop, and stops soon after the maximum number of tokens', async () => {
    const tokenizer = new LlamaTokenizer(models['byte-level'] as LlamaModel);
    // Long enough for several yields on a much faster machine.
    const text = drawn(2, PARTS['words'] ?? [], ' ').repeat(30);
    let turns = 0;
    const counting = setInterval(() => {
      turns += 1;
    }, 1);
    const tokens = await tokenizer.tokenizePrompt(text, null, Number.POSITIVE_INFINITY, new TimeSlice(''));
    clearInterval(counting);
    assert.ok(turns >= 3, `${turns} turns`);
    assert.deepEqual(tokens, tokenizer.tokenize(text));
    const some = await tokenizer.tokenizeText(text, 1_000, new TimeSlice(''));
    assert.ok(some.length > 1_000 && some.length < 6_000);
    assert.deepEqual(some, tokens.slice(0, some.length));
  });
});
