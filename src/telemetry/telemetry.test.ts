import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Histogram, Registry } from 'prom-client';
import { withDeadline } from '../../test/deadline.ts';
import { startServer, type TestServer } from '../../test/fixtures/upstream-server.ts';
import { useApi } from '../../test/harness.ts';
import { readOtlp } from '../config/otlp.ts';
import { createLogger } from '../lib/logger.ts';
import { traceHeaders } from '../lib/trace-headers.ts';
import type { UsageRecord } from '../lib/usage-record.ts';
import { Telemetry } from './telemetry.ts';

interface Span {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  attributes: { key: string; value: Record<string, unknown> }[];
  links?: { traceId: string; spanId: string }[];
}

/** `SPAN_KIND_CLIENT` of OTLP. */
const CLIENT_KIND = 3;

const CALL = {
  requestId: 'req_1',
  endpoint: '/v1/chat/completions',
  model: 'general-8b',
  promptTokens: 7,
  cachedTokens: 0,
  completionTokens: 2,
  durationMs: 5,
  queueMs: 0,
  firstTokenMs: 3,
  finishReason: 'stop',
  operation: 'chat',
  outcome: 'completed',
} as UsageRecord;

describe('Telemetry', () => {
  let collector: TestServer;
  let telemetry: Telemetry;
  const waiting = Promise.withResolvers<void>();
  const left = Promise.withResolvers<string>();
  const registry = new Registry();
  const seconds = new Histogram({ name: 'quire_test_seconds', help: 'Test.', buckets: [1, 2], registers: [registry] });
  for (const value of [0.5, 9]) seconds.observe(value);
  before(async () => {
    collector = await startServer((_request, response) => void response.end('{}'));
  });
  after(() => collector.close());
  const api = useApi({
    extend: (app) => {
      const endpoint = collector.baseUrl.replace('/v1', '');
      const settings = readOtlp({
        OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
        OTEL_EXPORTER_OTLP_HEADERS: 'x-token=t',
        OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      });
      assert.ok(settings);
      telemetry = new Telemetry(settings, { version: '1', metrics: registry, logger: createLogger('silent') });
      telemetry.traceRequests(app);
      app.get('/v1/trace-headers', async () => traceHeaders());
      app.get('/v1/never', (request, reply) => {
        reply.raw.once('close', () => setImmediate(left.resolve, request.id));
        waiting.resolve();
      });
    },
  });

  async function leaveRequest(): Promise<void> {
    const leaving = new AbortController();
    const never = fetch(`${api.url}/v1/never`, {
      headers: { authorization: `Bearer ${api.key}` },
      signal: leaving.signal,
    });
    await withDeadline('the request', waiting.promise);
    leaving.abort();
    await assert.rejects(never, { name: 'AbortError' });
  }

  it('exports requests, model calls and jobs in their traces, and metrics, without prompts', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const body = { model: 'general-8b', messages: [{ role: 'user', content: 'a secret prompt' }] };
    const { status } = await api.send('POST', '/v1/chat/completions', { body, headers: { traceparent } });
    assert.equal(status, 200);
    telemetry.traceCall(CALL);
    const unsampled = { traceparent: traceparent.replace(/01$/, '00') };
    const inside = await api.send('GET', '/v1/trace-headers', { headers: unsampled });
    assert.match(inside.json.traceparent, /^00-0af7651916cd43dd8448eb211c80319c-(?!b7ad6b7169203331)[0-9a-f]{16}-00$/);
    await telemetry.traceJob('run-batch', inside.json, async () => {
      assert.match(traceHeaders()['traceparent'] ?? '', /-01$/);
      telemetry.traceCall({ ...CALL, requestId: 'line-1', operation: 'embedding' });
    });
    await leaveRequest();
    telemetry.traceCall({ ...CALL, requestId: await withDeadline('the end of the request', left.promise) });
    await telemetry.close();
    const sent = JSON.stringify(collector.requests.map((request) => request.body));
    assert.ok(!sent.includes('secret prompt') && !sent.includes(api.key));
    const traces = collector.requests.find(({ path }) => path === '/v1/traces');
    assert.equal(traces?.headers['x-token'], 't');
    const exported = traces?.body as unknown as { resourceSpans: { scopeSpans: { spans: Span[] }[] }[] };
    const spans = exported.resourceSpans[0]?.scopeSpans[0]?.spans as Span[];
    assert.deepEqual(
      spans.map(({ name }) => name),
      [
        ...['POST /v1/chat/completions', 'chat general-8b', 'embeddings general-8b', 'process run-batch'],
        ...['GET /v1/never', 'chat general-8b'],
      ],
    );
    const [request, call, line, job, abandoned, late] = spans;
    assert.deepEqual([late?.traceId, late?.parentSpanId], [abandoned?.traceId, abandoned?.spanId]);
    const attributes = Object.fromEntries(call?.attributes.map(({ key, value }) => [key, value]) ?? []);
    assert.deepEqual(attributes['gen_ai.usage.input_tokens'], { intValue: 7 });
    assert.deepEqual(attributes['gen_ai.response.finish_reasons'], {
      arrayValue: { values: [{ stringValue: 'stop' }] },
    });
    assert.deepEqual([request?.traceId, request?.parentSpanId], traceparent.split('-').slice(1, 3));
    assert.deepEqual([line?.traceId, line?.parentSpanId], [job?.traceId, job?.spanId]);
    assert.deepEqual([call?.kind, attributes['gen_ai.operation.name']], [CLIENT_KIND, { stringValue: 'chat' }]);
    assert.deepEqual(attributes['gen_ai.response.time_to_first_chunk'], { doubleValue: 0.003 });
    // The job has a trace of its own, with a link to the request that enqueued it.
    const [, enqueuedIn, enqueuedBy] = inside.json.traceparent.split('-');
    assert.notEqual(job?.traceId, enqueuedIn);
    const links = job?.links?.map(({ traceId, spanId }) => [traceId, spanId]);
    assert.deepEqual(links, [[enqueuedIn, enqueuedBy]]);
    const metrics = JSON.stringify(collector.requests.find(({ path }) => path === '/v1/metrics')?.body);
    assert.match(metrics, /"quire_test_seconds".*"bucketCounts":\[1,0,1\]/);
    for (const name of [
      'http.server.request.duration',
      'gen_ai.server.request.duration',
      'gen_ai.server.time_to_first_token',
      'gen_ai.server.time_per_output_token',
      'gen_ai.client.token.usage',
    ]) {
      assert.ok(metrics.includes(`"name":"${name}"`), name);
    }
  });
});
