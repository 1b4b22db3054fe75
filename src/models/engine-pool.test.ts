import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { embeddingRequest } from '../../test/embedding-conformance.ts';
import { chatRequest } from '../../test/engine-conformance.ts';
import { type ArchitectureName, writeArchitecture } from '../../test/fixtures/architectures/write-architecture.ts';
import { SHUTDOWN_ORDER } from '../boot/shutdown-order.ts';
import { loadConfig } from '../config/config.ts';
import { Lifecycle } from '../lib/lifecycle.ts';
import { createLogger } from '../lib/logger.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { EnginePool } from './engine-pool.ts';

const folder = mkdtempSync(join(tmpdir(), 'quire-boot-'));
const lifecycle = new Lifecycle(SHUTDOWN_ORDER);
after(async () => {
  await lifecycle.stop((name, error) => assert.fail(`${name}: ${error}`));
  rmSync(folder, { recursive: true, force: true });
});
const never = new AbortController().signal;
const engines = new EnginePool(loadConfig({ QUIRE_DATA_DIR: folder }), createLogger('silent'), lifecycle);
const modelFile = async (name: ArchitectureName) => ({ file: await writeArchitecture(folder, name, 'q8_0') });

describe('ids that are bound to a GGUF of the operator', () => {
  it('an embedding model embeds with it, and its hash is kept', async () => {
    const { embedding } = await engines.startEngine(
      'embedding',
      'embed-large-en-v1.5',
      await modelFile('qwen-3-embedding'),
    );
    assert.deepEqual(
      [embedding?.backend().engine, embedding?.backend().model, embedding?.backend().ready],
      ['local', 'qwen-3-embedding-q8_0.gguf', true],
    );
    const { vectors } = await embedding!.embed(embeddingRequest(['the cat', 'the mat']), never);
    assert.deepEqual(
      vectors.map((vector) => vector.length),
      [1_024, 1_024],
    );
    const kept = JSON.parse(readFileSync(join(folder, 'model-hashes.json'), 'utf8'));
    assert.ok(embedding!.fingerprint().includes(kept.entries[0].sha256));
  });
  it('a reranking model judges with it', async () => {
    const { rerank } = await engines.startEngine('rerank', 'reranker-v2-m3', await modelFile('bge-reranker'));
    const { scores } = await rerank!.rerank({ query: 'the cat', documents: ['the mat', 'the river'] }, never);
    assert.equal(scores.length, 2);
  });
  it('is a sentence that names the id where the file is of another kind, not there, or not named', async () => {
    const refused = (id: string, why: RegExp) => (error: Error) =>
      error instanceof OperatorError && error.message.startsWith(`models.${id}: `) && why.test(error.message);
    const of = (kind: 'embedding' | 'rerank', binding: object) => engines.startEngine(kind, 'x', binding);
    await assert.rejects(of('embedding', await modelFile('bge-reranker')), refused('x', /is a reranker; bind a GGUF/));
    await assert.rejects(of('rerank', { file: join(folder, 'none.gguf') }), refused('x', /does not exist/));
    await assert.rejects(of('rerank', { engine: 'local' }), refused('x', /'engine: local' needs 'file'/));
  });
});

describe('ids that are bound to a server of Anthropic Messages', () => {
  const base_urls = ['http://127.0.0.1:9'];

  it('chat models use it, by their binding or by QUIRE_UPSTREAM_PROTOCOL, and not with base URLs of their own', async () => {
    const settings = { QUIRE_DATA_DIR: folder, QUIRE_UPSTREAM_URL: base_urls[0], QUIRE_UPSTREAM_PROTOCOL: 'anthropic' };
    const pool = new EnginePool(loadConfig(settings), createLogger('silent'), lifecycle);
    const rejected = async (binding?: Parameters<typeof pool.startGeneration>[1]) => {
      const engine = await pool.startGeneration('x', binding);
      const error = await engine
        .generate(chatRequest('a', { choices: 2 }), never)
        .next()
        .catch((reason) => reason);
      return error.param;
    };
    assert.equal(await rejected(), 'n');
    assert.equal(await rejected({ engine: 'upstream' }), 'n');
    assert.equal(await rejected({ base_urls, protocol: 'anthropic' }), 'n');
    // A server of OpenAI's API may return several choices, if it were there.
    assert.equal(await rejected({ base_urls }), null);
  });

  it('embedding models are rejected by a sentence that names the id', async () => {
    const bound = engines.startEngine('embedding', 'x', { base_urls, protocol: 'anthropic' });
    await assert.rejects(bound, /^OperatorError: models\.x: 'protocol: anthropic' is for chat models/);
  });
});

describe('ids that are bound to several servers', () => {
  const servers = [
    { base_urls: ['http://127.0.0.1:9/v1'], upstream_model: 'a', api_key: 'k', weight: 2 },
    { base_urls: ['http://127.0.0.1:10/v1'], protocol: 'anthropic' as const, weight: 0 },
  ];

  it('one engine has all of them, and ids with equal bindings share it', async () => {
    const engine = await engines.startGeneration('x', { servers });
    assert.deepEqual(
      engine.servers?.().map(({ url }) => url),
      ['http://127.0.0.1:9', 'http://127.0.0.1:10'],
    );
    const named = [servers[0], { ...servers[1], upstream_model: 'x' }] as typeof servers;
    assert.equal(await engines.startGeneration('y', { servers: named }), engine);
    assert.notEqual(await engines.startGeneration('x', { servers: [...servers].reverse() }), engine);
  });

  it('models of other kinds are rejected by a sentence that names the id', async () => {
    await assert.rejects(
      engines.startEngine('rerank', 'x', { servers }),
      /^OperatorError: models\.x: 'servers' is for chat/,
    );
  });
});
