import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { writeTinyGguf } from '../../../../test/fixtures/tiny-gguf.ts';
import { type LocalModel, loadModel } from '../engine/model.ts';
import { decode, GrammarState, type Sampled, TokenSampler, truncate } from './bindings.ts';

/** Fails when a new version of node-llama-cpp changes the internals that Quire uses. */
describe('internals of node-llama-cpp', () => {
  const folder = mkdtempSync(join(tmpdir(), 'quire-native-'));
  let model: LocalModel;
  before(async () => {
    const file = writeTinyGguf(join(folder, 'tiny.gguf'));
    model = await loadModel({ file, contextTokens: null, slots: 3, threads: 1 });
  });
  after(async () => {
    await model.model.llama.dispose();
    rmSync(folder, { recursive: true, force: true });
  });
  const sampler = (logprobs: number | null = null, changes: object = {}): TokenSampler => {
    const config = { temperature: 0, topP: 1, seed: 1, bias: new Map(), grammar: null, ...changes };
    return new TokenSampler(model.kv, config, logprobs);
  };

  const requireDistribution = ({ token, logprob, top }: Sampled): void => {
    assert.ok(Math.abs(top.reduce((sum, other) => sum + Math.exp(other.logprob), 0) - 1) < 1e-3);
    assert.equal(top.find((other) => other.token === token)?.logprob, logprob);
  };

  it('decodes several slots in a step and samples at the requested outputs', async () => {
    const items = [0, 1, 2].map((slot) => ({
      slot,
      position: 0,
      tokens: [1, 300, 301 + slot],
      outputs: slot === 1 ? [] : [2],
    }));
    const indices = await decode(model.kv.current, items);
    assert.deepEqual(
      indices.map((index) => index.length > 0),
      [true, false, true],
    );
    const tokens = await Promise.all([0, 2].map((i) => sampler().sample(indices[i]?.[0] ?? -1)));
    for (const { token } of tokens) assert.ok(token >= 0 && token < model.tokenizer.size);
    for (const slot of [0, 1, 2]) truncate(model.kv.current, slot, 0);
  });
  it('truncates a slot and samples the same token after the same tokens', async () => {
    const step = async (position: number, tokens: number[]): Promise<number> => {
      const [[index = -1] = []] = await decode(model.kv.current, [
        { slot: 0, position, tokens, outputs: [tokens.length - 1] },
      ]);
      return (await sampler().sample(index)).token;
    };
    const first = await step(0, [1, 310, 320]);
    assert.equal(truncate(model.kv.current, 0, 2), true);
    assert.equal(await step(2, [320]), first);
    assert.equal(truncate(model.kv.current, 0, 0), true);
  });
  it('log probabilities include bias and grammar, exclude temperature and top-p, and sum to one', async () => {
    const [[index = -1] = []] = await decode(model.kv.current, [{ slot: 0, position: 0, tokens: [1], outputs: [0] }]);
    const size = model.tokenizer.size;
    const plain = await sampler(size).sample(index);
    assert.equal(plain.top.length, size);
    requireDistribution(plain);
    assert.equal(plain.top[0]?.token, plain.token);
    const bias = new Map([
      [plain.token, -100],
      [plain.top[1]?.token ?? -1, Number.NEGATIVE_INFINITY],
    ]);
    const biased = await sampler(size, { bias }).sample(index);
    requireDistribution(biased);
    assert.deepEqual([biased.token, biased.top.length], [plain.top[2]?.token, size - 1]);
    assert.equal(biased.top[0]?.token, biased.token);
    const drawn = await sampler(size, { bias, temperature: 2, topP: 0.9, seed: 4 }).sample(index);
    assert.deepEqual(drawn.top, biased.top);
    assert.ok(drawn.top.some(({ token, logprob }) => token === drawn.token && logprob === drawn.logprob));
    assert.equal((await sampler(null, { bias, temperature: 2, topP: 0.9, seed: 4 }).sample(index)).token, drawn.token);
    truncate(model.kv.current, 0, 0);
  });
  for (const temperature of [0, 1]) {
    it(`log probabilities under a grammar at temperature ${temperature} are those of its tokens`, async () => {
      const [[index = -1] = []] = await decode(model.kv.current, [{ slot: 0, position: 0, tokens: [1], outputs: [0] }]);
      const grammar = await model.grammar({ text: 'root ::= [ab] [cd] "e"' });
      const spelled = (token: number) => Buffer.from(model.tokenizer.tokenText(token).bytes).toString();
      const state = new GrammarState(model.kv.current, grammar, () => true);
      const constrained = sampler(model.tokenizer.size, { grammar: state, temperature });
      for (const letters of ['ab', 'cd', 'e']) {
        const sampled = await constrained.sample(index);
        requireDistribution(sampled);
        for (const { token } of sampled.top) assert.ok(letters.includes(spelled(token).charAt(0)), spelled(token));
        assert.ok(sampled.top.some(({ token }) => token === sampled.token));
        if (temperature === 0) assert.equal(sampled.top[0]?.token, sampled.token);
      }
      const unlisted = new GrammarState(model.kv.current, grammar, () => false);
      const { token } = await sampler(1, { grammar: unlisted, temperature }).sample(index);
      assert.ok('ab'.includes(spelled(token)), 'a state that is too large to copy constrains the token');
      truncate(model.kv.current, 0, 0);
    });
  }
  it('a reused sampler samples like a new one', async () => {
    const [[index = -1] = []] = await decode(model.kv.current, [{ slot: 0, position: 0, tokens: [1], outputs: [0] }]);
    const draw = async (): Promise<number[]> => {
      const made = sampler(null, { temperature: 1, seed: 3 });
      const tokens: number[] = [];
      for (let i = 0; i < 8; i++) tokens.push((await made.sample(index)).token);
      made.release();
      return tokens;
    };
    const first = await draw();
    assert.ok(new Set(first).size > 1);
    assert.deepEqual(await draw(), first);
    truncate(model.kv.current, 0, 0);
  });
  it('applies a grammar, also behind tokens generated before it', async () => {
    const grammar = await model.grammar({ text: 'root ::= "ab" "c"' });
    const state = new GrammarState(model.kv.current, grammar, () => true);
    assert.equal(state.accept(model.tokenizer.tokenize('a')), true);
    const [[index = -1] = []] = await decode(model.kv.current, [{ slot: 0, position: 0, tokens: [1], outputs: [0] }]);
    const { token } = await sampler(null, { grammar: state }).sample(index);
    assert.equal(Buffer.from(model.tokenizer.tokenText(token).bytes).toString(), 'b');
    assert.equal(new GrammarState(model.kv.current, grammar, () => true).accept(model.tokenizer.tokenize('x')), false);
    await assert.rejects(model.grammar({ text: 'root ::= (' }));
    truncate(model.kv.current, 0, 0);
  });
});
