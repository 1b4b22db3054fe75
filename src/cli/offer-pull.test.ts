import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { offerPull } from './offer-pull.ts';

type Offered = {
  model?: 'qwen2.5-1.5b' | null;
  isHubReachable?: boolean;
  others?: string[];
  answer?: string;
  signal?: AbortSignal;
};

/** Asks and answers. Returns the output, and the steps that followed. */
async function ask({ model = 'qwen2.5-1.5b', isHubReachable = true, others = [], answer, signal }: Offered) {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const steps: string[] = [];
  const pull = {
    chooseModel: () => model,
    chooseRetrievalModels: () => others,
    isHubReachable: async () => isHubReachable,
    start: (started?: string | null, more: readonly string[] = []) => {
      steps.push(['start', started, ...more].join(' '));
      return started ?? null;
    },
  };
  const decline = async () => void steps.push('decline');
  if (answer !== undefined) input.write(`${answer}\n`);
  const showUnreachable = (name: string) => void steps.push(`unreachable ${name}`);
  await offerPull({ pull, input, output, decline, showUnreachable, signal: signal ?? new AbortController().signal });
  output.end();
  return { steps, shown: await text(output) };
}

describe('the question of a first start at a terminal', () => {
  for (const answer of ['', 'y', 'Yes', ' yes']) {
    it(`downloads after ${JSON.stringify(answer)}`, async () => {
      const { steps, shown } = await ask({ answer });
      assert.deepEqual(steps, ['start qwen2.5-1.5b']);
      assert.match(shown, /Download qwen2\.5-1\.5b \(1\.\d GB, Apache-2\.0\) in the background\? \[Y\/n\]/);
    });
  }

  for (const answer of ['n', ' No', 'nein']) {
    it(`stores the refusal ${JSON.stringify(answer)} and says how to download later`, async () => {
      const { steps, shown } = await ask({ answer });
      assert.deepEqual(steps, ['decline']);
      assert.match(shown, /quire models pull-set/);
    });
  }

  const others = ['qwen3-embedding-0.6b', 'bge-reranker-v2-m3'];
  for (const { answer, started } of [
    { answer: '', started: ['start qwen2.5-1.5b qwen3-embedding-0.6b bge-reranker-v2-m3'] },
    { answer: ' C', started: ['start qwen2.5-1.5b'] },
    { answer: 'chat', started: ['start qwen2.5-1.5b'] },
    { answer: 'no', started: ['decline'] },
  ]) {
    it(`shows models for retrieval with size and licence; ${JSON.stringify(answer)}: ${started}`, async () => {
      const { steps, shown } = await ask({ answer, others });
      assert.deepEqual(steps, started);
      assert.match(
        shown,
        /with qwen3-embedding-0\.6b \(0\.6 GB, Apache-2\.0\)\n {2}with bge-reranker-v2-m3 \(1\.2 GB, Apache-2\.0\)/,
      );
      assert.match(shown, /\[Y\/n, c: chat only\]/);
    });
  }

  it('asks nothing without memory for a model, or a hub', async () => {
    assert.deepEqual(await ask({ model: null }), { steps: [], shown: '' });
    assert.deepEqual(await ask({ isHubReachable: false }), { steps: ['unreachable qwen2.5-1.5b'], shown: '' });
  });

  it('ends without an answer when the service stops', async () => {
    const { steps } = await ask({ signal: AbortSignal.timeout(50) });
    assert.deepEqual(steps, []);
  });
});
