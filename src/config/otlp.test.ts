import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { OperatorError } from '../lib/operator-error.ts';
import { readOtlp } from './otlp.ts';

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318/base//' };

describe('readOtlp', () => {
  it('is null without an endpoint, with an empty one, and when the SDK is disabled', () => {
    assert.equal(readOtlp({}), null);
    assert.equal(readOtlp({ OTEL_EXPORTER_OTLP_ENDPOINT: '' }), null);
    assert.equal(readOtlp({ ...ENDPOINT, OTEL_SDK_DISABLED: 'true' }), null);
    assert.equal(readOtlp({ ...ENDPOINT, OTEL_TRACES_EXPORTER: 'none', OTEL_METRICS_EXPORTER: 'none' }), null);
  });

  it('appends the paths of the signals to the endpoint of all, and has the defaults of the specification', () => {
    assert.deepEqual(readOtlp(ENDPOINT), {
      protocol: 'http/protobuf',
      traces: { url: 'http://collector:4318/base/v1/traces', headers: {} },
      metrics: { url: 'http://collector:4318/base/v1/metrics', headers: {} },
      serviceName: 'quire',
      metricIntervalMs: 60_000,
    });
  });

  it('uses the endpoint of one signal unchanged, and its headers instead of those of all', () => {
    const settings = readOtlp({
      ...ENDPOINT,
      OTEL_EXPORTER_OTLP_HEADERS: 'a=1,b=x=y, c = d%20e ,broken=%zz,none',
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://traces/in',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 't=2',
    });
    assert.deepEqual(settings?.traces, { url: 'https://traces/in', headers: { t: '2' } });
    assert.deepEqual(settings?.metrics?.headers, { a: '1', b: 'x=y', c: 'd e', broken: '%zz' });
  });

  it('exports metrics only to an endpoint for them', () => {
    assert.equal(readOtlp({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://traces' })?.metrics, null);
  });

  it('reads headers from a file', (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'quire-otlp-'));
    t.after(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, 'headers'), 'Authorization=Basic%20x\n');
    const settings = readOtlp({ ...ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS_FILE: join(folder, 'headers') });
    assert.deepEqual(settings?.traces?.headers, { Authorization: 'Basic x' });
  });

  for (const [name, value] of [
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318'],
    ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'grpc://collector'],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc'],
  ] as const) {
    it(`rejects ${name}=${value}, and names the variable`, () => {
      assert.throws(
        () => readOtlp({ ...ENDPOINT, [name]: value }),
        (error) => error instanceof OperatorError && error.message.startsWith(name),
      );
    });
  }
});
