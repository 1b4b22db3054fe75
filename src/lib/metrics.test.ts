import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Registry } from 'prom-client';
import { addCounter, addGauge, oncePerRegistry } from './metrics.ts';

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
