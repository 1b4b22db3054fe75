import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { embeddingRequest } from '../../test/embedding-conformance.ts';
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
