import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { askText, CAT, CAT_COMPLETION, tinyModel } from './fixtures/cat-model.ts';
import { createSharedStores, type SharedStores } from './shared-stores.ts';
import { newDataDir, type Service, startService, until } from './spawned-service.ts';

/** A second model, stored under the name of the first in some tests. */
const OTHER = tinyModel({ '<|assistant|>': '▁cat', '▁cat': '<|end|>' });
const OTHER_COMPLETION = 'cat';

const kittyPath = (dataDir: string) => join(dataDir, 'models/kitty.gguf');

function writeKitty(dataDir: string, bytes: Uint8Array): void {
  mkdirSync(join(dataDir, 'models'), { recursive: true, mode: 0o700 });
  writeFileSync(kittyPath(dataDir), bytes);
}

/** The answer of an id, or the message of its 503. */
async function answer(service: Service, model = 'general-8b'): Promise<string> {
  try {
    return await askText(service, model);
  } catch (error) {
    const text = String(error);
    assert.match(text, /503: .*engine_unavailable/);
    return text;
  }
}

describe('a model file that one of two machines has', () => {
  let shared: SharedStores;
  let first: Service;
  let second: Service;
  before(async () => {
    shared = await createSharedStores();
    const dataDir = newDataDir();
    writeKitty(dataDir, CAT);
    [first, second] = await Promise.all([
      startService({ env: shared.env, dataDir }),
      startService({ env: shared.env, dataDir: newDataDir() }),
    ]);
  });
  after(async () => {
    await Promise.all([first?.kill(), second?.kill()]);
    await shared.close();
  });

  /**
   * Waits until the second service answers with a model; until then it answers 503, never with another one than
   * `allowed`.
   */
  async function untilSecondAnswers(completion: string, allowed: readonly string[] = []): Promise<void> {
    await until(async () => {
      const text = await answer(second);
      assert.ok(text === completion || text.includes('503') || allowed.includes(text), text);
      return text === completion;
    });
  }

  const blob = () => [...shared.store.objects.keys()].find((key) => /^blobs\/(?!0{12})/.test(key)) ?? '';

  it('is fetched by the other one, which then serves it', async () => {
    const bundled = await answer(second);
    assert.notEqual(bundled, CAT_COMPLETION);
    assert.equal((await first.quire('models', 'use', 'general-8b=kitty')).code, 0);
    await untilSecondAnswers(CAT_COMPLETION, [bundled]);
    assert.ok(existsSync(kittyPath(second.dataDir)));
    assert.match((await second.quire('models', 'list')).stdout, /kitty/);
  });

  it('a process starts without the file, answers 503 that says why, and serves its other ids meanwhile', async () => {
    await second.kill();
    rmSync(join(second.dataDir, 'models'), { recursive: true });
    const key = blob();
    const bytes = shared.store.objects.get(key) as Buffer;
    shared.store.objects.delete(key);
    const hidden = `${kittyPath(first.dataDir)}.hidden`;
    renameSync(kittyPath(first.dataDir), hidden);
    second = await startService({ env: shared.env, dataDir: second.dataDir });
    assert.match(await answer(second), /The model file 'kitty' .* (fetched|not on this machine)/);
    assert.notEqual(await askText(second, 'instruct-7b'), CAT_COMPLETION);
    const ready = await (await fetch(`${second.url}/readyz?verbose`)).text();
    assert.match(ready, /"status":"ready".*"name":"general-8b","ok":false,"detail":"local kitty: The model file/);
    assert.match(await (await fetch(`${second.url}/metrics`)).text(), /quire_engine_up\{model="general-8b"\} 0/);
    await until(async () => /no process has stored it/.test(await answer(second)));
    // The process that has the file stores a lost blob again, at the latest at its next poll.
    renameSync(hidden, kittyPath(first.dataDir));
    assert.equal((await first.quire('models', 'use', 'instruct-7b=bundled')).code, 0);
    await untilSecondAnswers(CAT_COMPLETION);
    assert.deepEqual(shared.store.objects.get(blob()), bytes);
  });

  it('is fetched from the byte on that the killed process had received', async () => {
    await second.kill();
    rmSync(join(second.dataDir, 'models'), { recursive: true });
    shared.store.fault = (operation, key) => (operation === 'GET object' && key === blob() ? 'half' : null);
    second = await startService({ env: shared.env, dataDir: second.dataDir });
    const half = Math.floor(CAT.length / 2);
    const partial = `${kittyPath(second.dataDir)}.part`;
    await until(() => existsSync(partial) && statSync(partial).size === half);
    await second.kill();
    shared.store.fault = null;
    second = await startService({ env: shared.env, dataDir: second.dataDir });
    await untilSecondAnswers(CAT_COMPLETION);
    assert.match(second.stderr(), new RegExp(`"resumedBytes":${half},`));
    assert.deepEqual(readFileSync(kittyPath(second.dataDir)), Buffer.from(CAT));
    assert.ok(!existsSync(partial));
  });

  it('is not mixed up with another file of that name', async () => {
    await second.kill();
    rmSync(join(second.dataDir, 'models'), { recursive: true });
    writeKitty(second.dataDir, OTHER);
    second = await startService({ env: shared.env, dataDir: second.dataDir });
    assert.match(await answer(second), /is another one than the bound one/);
    rmSync(kittyPath(second.dataDir));
    assert.equal((await second.quire('models', 'use', 'mine=kitty')).code, 1);
    assert.equal((await first.quire('models', 'use', 'mine=kitty')).code, 0);
    await untilSecondAnswers(CAT_COMPLETION);
    assert.equal(await askText(second, 'mine'), CAT_COMPLETION);
  });

  it('replaced under its name reaches the other one when it is bound again, and its blob goes with the last binding', async () => {
    const before = blob();
    rmSync(kittyPath(first.dataDir));
    writeKitty(first.dataDir, OTHER);
    assert.equal((await first.quire('models', 'use', 'general-8b=kitty')).code, 0);
    assert.equal(await askText(first), OTHER_COMPLETION);
    await untilSecondAnswers(OTHER_COMPLETION, [CAT_COMPLETION]);
    await until(() => !shared.store.objects.has(before) && blob() !== '');
    for (const id of ['general-8b', 'mine'])
      assert.equal((await second.quire('models', 'use', `${id}=bundled`)).code, 0);
    await until(async () => ![OTHER_COMPLETION, CAT_COMPLETION].includes(await answer(first)));
    await until(() => blob() === '');
  });
});
