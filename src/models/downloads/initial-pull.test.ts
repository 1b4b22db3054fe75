import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { until } from '../../../test/deadline.ts';
import { sendFile, sha256Hex, useHub } from '../../../test/fixtures/hub-server.ts';
import { writeTinyGguf } from '../../../test/fixtures/tiny-gguf.ts';
import { loadConfig } from '../../config/config.ts';
import { createLogger } from '../../lib/logger.ts';
import { InitialPull, type InitialPullStatus } from './initial-pull.ts';
import { findModelFile } from './model-files.ts';

const FOLDER = mkdtempSync(join(tmpdir(), 'quire-first-'));
process.once('exit', () => rmSync(FOLDER, { recursive: true, force: true }));
const TINY = readFileSync(writeTinyGguf(join(FOLDER, 'tiny.gguf')));
const PATH = '/Qwen/Qwen2.5-0.5B-Instruct-GGUF/resolve/main/qwen2.5-0.5b-instruct-q4_k_m.gguf';
const ENOUGH = 2e9;

describe('the pull of a first start', () => {
  const hub = useHub();

  /** Runs it to its end. */
  async function run(
    options: {
      freeMemory?: number;
      bind?: (models: readonly string[]) => Promise<void>;
      hubUrl?: string;
      others?: string[];
      dataDir?: string;
    } = {},
  ) {
    const { dataDir = mkdtempSync(join(FOLDER, 'data-')) } = options;
    const lines: Record<string, unknown>[] = [];
    const logger = createLogger('info', { write: (line) => lines.push(JSON.parse(line)) });
    const bound: string[] = [];
    const outcomes: string[] = [];
    const pull = new InitialPull({
      config: { ...loadConfig({}), dataDir, hubUrl: options.hubUrl ?? hub.url },
      logger,
      bind: options.bind ?? (async (models) => void bound.push(...models)),
      onOutcome: ({ state }) => outcomes.push(state),
      freeMemory: () => options.freeMemory ?? ENOUGH,
    });
    const model = pull.start(undefined, options.others);
    const atStart = pull.status;
    await until(() => !['pulling', 'loading'].includes(pull.status?.state ?? ''));
    await pull.stop();
    return { dataDir, lines, outcomes, bound, model, atStart, status: pull.status as InitialPullStatus };
  }

  it('fetches a model that the memory is enough for, logs how far it is, and lets it answer', async () => {
    hub.files.set(PATH, TINY);
    const { dataDir, lines, outcomes, bound, atStart, status } = await run();
    const zero = { model: 'qwen2.5-0.5b', state: 'pulling', received_bytes: 0, total_bytes: null, detail: null };
    assert.deepEqual(atStart, zero);
    assert.deepEqual(status, { ...zero, state: 'done', received_bytes: TINY.length, total_bytes: TINY.length });
    assert.deepEqual([bound, outcomes], [['qwen2.5-0.5b'], ['pulling']]);
    assert.equal((await findModelFile(dataDir, 'qwen2.5-0.5b'))?.card?.sha256, sha256Hex(TINY));
    const percents = lines.flatMap(({ percent }) => (percent === undefined ? [] : [percent as number]));
    assert.equal(percents.at(-1), 100);
    assert.ok(percents.length <= 11, percents.join());
    assert.equal(lines.at(-1)?.['msg'], 'model pull completed');
  });

  it('binds a set when all of its models are complete, and resumes after one has failed', async () => {
    hub.files.set(PATH, TINY);
    const embedder = '/Qwen/Qwen3-Embedding-0.6B-GGUF/resolve/main/Qwen3-Embedding-0.6B-Q8_0.gguf';
    hub.files.delete(embedder);
    const others = ['qwen3-embedding-0.6b'];
    const failed = await run({ others });
    assert.deepEqual([failed.status.state, failed.status.model, failed.bound], ['failed', others[0], []]);
    hub.files.set(embedder, TINY);
    hub.seen.length = 0;
    const { status, bound } = await run({ others, dataDir: failed.dataDir });
    assert.deepEqual([status.state, bound], ['done', ['qwen2.5-0.5b', ...others]]);
    assert.ok(!hub.seen.some((path) => JSON.stringify(path).includes(PATH)), 'nothing is downloaded twice');
  });

  it('fetches nothing where the memory is too little', async () => {
    hub.seen.length = 0;
    const { model, status, lines } = await run({ freeMemory: 1e9 });
    assert.deepEqual([model, status, hub.seen.length, lines.length], [null, null, 0, 1]);
  });

  it('ends with one line of warning where nothing can be had, or the model cannot be loaded', async () => {
    hub.files.delete(PATH);
    const missing = await run();
    assert.equal(missing.status.state, 'failed');
    assert.match(missing.status.detail ?? '', /no such file/);
    assert.deepEqual(missing.outcomes, ['failed']);
    hub.files.set(PATH, TINY);
    const unloadable = await run({ bind: () => Promise.reject(new Error('too large for this machine')) });
    assert.equal(unloadable.status.detail, 'too large for this machine');
    for (const { lines, bound } of [missing, unloadable]) {
      assert.deepEqual(bound, []);
      assert.equal(lines.filter(({ level }) => level === 'warn').length, 1);
      assert.match(String(lines.at(-1)?.['msg']), /using the bundled model/);
    }
  });

  it('does not use a model whose hash nobody tells', async () => {
    hub.files.set(PATH, TINY);
    hub.acts[0] = (request, response) => {
      sendFile(request, response, TINY, {});
      return true;
    };
    const { bound, status } = await run();
    hub.acts.length = 0;
    assert.deepEqual([bound, status.state], [[], 'failed']);
    assert.match(status.detail ?? '', /did not say what its SHA-256 is/);
  });
});
