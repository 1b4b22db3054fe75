import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { askText, CAT, CAT_COMPLETION } from './fixtures/cat-model.ts';
import { createSharedStores } from './shared-stores.ts';
import { newDataDir, startService, until } from './spawned-service.ts';

/** Creates a data folder with the model `kitty`. */
function dataDirWithModel(): string {
  const dataDir = newDataDir();
  mkdirSync(join(dataDir, 'models'), { mode: 0o700 });
  writeFileSync(join(dataDir, 'models/kitty.gguf'), CAT);
  return dataDir;
}

it('a binding reaches a second service on the same PostgreSQL', async (t) => {
  const { env, close } = await createSharedStores();
  t.after(close);
  const services = [];
  for (const dataDir of [dataDirWithModel(), dataDirWithModel()]) {
    const service = await startService({ env, dataDir });
    t.after(() => service.kill());
    services.push(service);
  }
  const [first, second] = services as [(typeof services)[0], (typeof services)[0]];
  assert.notEqual(await askText(second), CAT_COMPLETION);
  assert.equal((await first.quire('models', 'use', 'general-8b=kitty')).code, 0);
  await until(async () => (await askText(second)) === CAT_COMPLETION);
  assert.equal((await second.quire('models', 'use', 'general-8b=bundled')).code, 0);
  await until(async () => (await askText(first)) !== CAT_COMPLETION);
});
