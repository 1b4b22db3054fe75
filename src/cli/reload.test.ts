import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Config, loadConfig } from '../config/config.ts';
import { createLogger } from '../lib/logger.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { reloadConfig } from './reload.ts';

function setUp(load: () => Config, reconfigure = async (_config: Config) => {}) {
  const lines: Record<string, unknown>[] = [];
  const logger = createLogger('info', { write: (line) => lines.push(JSON.parse(line)) });
  const limits: unknown[] = [];
  const limiter = { setDefaults: (defaults: unknown) => limits.push(defaults) };
  return { lines, limits, service: { logger, bindings: { reconfigure }, limiter: limiter as never, load } };
}

describe('reloadConfig', () => {
  const current = loadConfig({});

  it('applies models, upstreams, limits and log level, and names what needs a restart', async () => {
    const next = { ...current, logLevel: 'warn' as const, port: 9, models: { a: { alias: 'general-8b' } } };
    const given: Config[] = [];
    const { lines, limits, service } = setUp(
      () => next,
      async (config) => void given.push(config),
    );
    // The line about the reload is logged at the new level.
    const applied = await reloadConfig(current, { ...service, load: () => ({ ...next, logLevel: 'debug' }) });
    assert.deepEqual([applied.models, applied.port, service.logger.level], [next.models, current.port, 'debug']);
    assert.deepEqual([given[0]?.models, limits], [next.models, [current.rateLimits]]);
    assert.deepEqual([lines[0]?.['applied'], lines[0]?.['needRestart']], [['logLevel', 'models'], ['port']]);
  });

  it('keeps the configuration in force when the new one is invalid or cannot be served', async () => {
    const invalid = setUp(() => {
      throw new OperatorError("quire.yaml: 'prot' is not a setting.");
    });
    assert.equal(await reloadConfig(current, invalid.service), current);
    assert.match(String(invalid.lines[0]?.['error']), /'prot' is not a setting/);
    const unserved = setUp(
      () => ({ ...current, logLevel: 'error' }),
      () => Promise.reject(new OperatorError('There is no file.')),
    );
    assert.equal(await reloadConfig(current, unserved.service), current);
    assert.deepEqual([unserved.service.logger.level, unserved.limits], ['info', []]);
  });
});
