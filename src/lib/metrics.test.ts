import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Registry } from 'prom-client';
import { addCounter, addGauge, addReadGauge, addSampledGauge, oncePerRegistry, shareQuery } from './metrics.ts';

describe('oncePerRegistry', () => {
  it('registers once in each registry, also when nothing is returned', async () => {
    const registries: Registry[] = [];
    const register = oncePerRegistry((registry) => {
      registries.push(registry);
      addGauge(registry, 'in_flight', 'Calls in flight.').set(3);
      addCounter(registry, 'calls_total', 'Calls.', ['outcome']).inc({ outcome: 'failed' }, 2);
    });
    const [first, second] = [new Registry(), new Registry()];
    for (const registry of [first, second, first]) register(registry);
    assert.deepEqual(registries, [first, second]);
    assert.equal(
      await first.metrics(),
      '# HELP in_flight Calls in flight.\n# TYPE in_flight gauge\nin_flight 3\n\n# HELP calls_total Calls.\n# TYPE calls_total counter\ncalls_total{outcome="failed"} 2\n',
    );
  });
});

describe('gauges that are read at a scrape', () => {
  it('have the samples of the last read, and none when it fails', async () => {
    const registry = new Registry();
    const results = [[{ labels: { kind: 'a"b' }, value: 1 }], [{ labels: { kind: 'c' }, value: 2 }], null];
    const read = async () => results.shift() ?? Promise.reject(new Error('the database does not respond'));
    addSampledGauge(registry, { name: 'jobs', help: 'Jobs.', labelNames: ['kind'] }, read);
    addReadGauge(registry, 'age', 'Age.', () => results.length);
    const scrape = async () => (await registry.metrics()).split('\n').filter((line) => /^(jobs|age)/.test(line));
    assert.deepEqual(await scrape(), ['jobs{kind="a\\"b"} 1', 'age 2']);
    assert.deepEqual(await scrape(), ['jobs{kind="c"} 2', 'age 1']);
    assert.deepEqual(await scrape(), ['age 0']);
  });

  it('share one query per scrape', async () => {
    let queries = 0;
    const query = shareQuery(async () => {
      queries += 1;
      return queries;
    });
    assert.deepEqual(await Promise.all([query(), query()]), [1, 1]);
    assert.deepEqual([await query(), queries], [1, 1]);
  });

  it('read again after a failed query', async () => {
    let queries = 0;
    const query = shareQuery(async () => {
      queries += 1;
      if (queries === 1) throw new Error('the database does not respond');
      return queries;
    });
    await assert.rejects(query(), /does not respond/);
    assert.equal(await query(), 2);
  });
});
