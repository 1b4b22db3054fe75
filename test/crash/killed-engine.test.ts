import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { writeTinyGguf } from '../fixtures/tiny-gguf.ts';
import { metric } from '../metric.ts';
import { newDataDir, startService, until, useEmbeddedDatabases } from '../spawned-service.ts';
import { chat, chatBody, readUsageRows } from './load.ts';
import { NO_TIME_LIMIT, ROUNDS } from './rounds.ts';

useEmbeddedDatabases();

const MODEL = 'general-8b';

const commandLine = (pid: number): string => readFileSync(`/proc/${pid}/cmdline`, 'utf8');

describe("SIGKILL of a model's process", () => {
  it('fails its requests with 503, and serves the next ones', NO_TIME_LIMIT, async () => {
    const dataDir = newDataDir();
    // An endless completion, so that both requests run when the process dies.
    const script = { '<|assistant|>': '▁red', '▁red': '▁blue', '▁blue': '▁red' };
    const file = writeTinyGguf(join(dataDir, 'tiny.gguf'), { contextTokens: 16_384, script });
    const service = await startService({
      dataDir,
      // Only this model has a host process.
      env: { QUIRE_UPSTREAM_URL: 'http://127.0.0.1:9/v1' },
      config: `models:\n  ${MODEL}: {file: '${file}'}\n`,
    });
    const failed: string[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      let seen = '';
      const streamed = chat(service, chatBody(MODEL, true), (text) => {
        seen = text;
      });
      const whole = chat(service, chatBody(MODEL, false));
      await until(() => seen.includes(' red'));
      await until(async () => (await metric(service.url, 'quire_generations_in_flight')) === 2);
      // The other child is the embedded PostgreSQL.
      const hosts = service.children().filter((child) => commandLine(child).includes('engine/host.ts'));
      const [pid] = hosts;
      assert.ok(pid !== undefined && hosts.length === 1);
      process.kill(pid, 'SIGKILL');

      const broken = await streamed;
      assert.equal(broken.status, 200);
      assert.equal(broken.whole, false);
      const lastFrame = broken.text.trimEnd().split('\n\n').at(-1) ?? '';
      assert.equal(JSON.parse(lastFrame.slice('data: '.length)).error.code, 'engine_unavailable');
      const refused = await whole;
      assert.equal(refused.status, 503);
      assert.equal(JSON.parse(refused.text).error.code, 'engine_unavailable');
      failed.push(broken.requestId, refused.requestId);

      await until(async () => {
        const next = await chat(service, chatBody(MODEL, false, 2));
        if (next.status === 200) return true;
        assert.equal(JSON.parse(next.text).error.code, 'engine_unavailable');
        return false;
      });
    }
    assert.deepEqual(await service.stop(), { code: 0, signal: null });
    const rows = await readUsageRows(dataDir);
    for (const requestId of failed) {
      const found = rows.filter((row) => row.requestId === requestId);
      assert.deepEqual(
        found.map(({ outcome }) => outcome),
        ['failed'],
      );
    }
  });
});
