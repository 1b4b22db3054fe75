import assert from 'node:assert/strict';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { Registry } from 'prom-client';
import { readOtlp } from '../config/otlp.ts';
import { createLogger } from '../lib/logger.ts';
import { withTraceHeaders } from '../lib/trace-headers.ts';
import type { UsageRecord } from '../lib/usage-record.ts';
import { Telemetry } from './telemetry.ts';

const CALL = {
  requestId: 'req_1',
  organizationId: 'org_1',
  keyId: 'key_1',
  endpoint: '/v1/chat/completions',
  operation: 'chat',
  model: 'general-8b',
  promptTokens: 7,
  cachedTokens: 3,
  completionTokens: 2,
  durationMs: 5,
  queueMs: 0,
  firstTokenMs: 1,
  finishReason: 'stop',
  outcome: 'completed',
} as UsageRecord;

/** Attributes that Langfuse and Phoenix read. */
const READ_BY_BACKENDS = [
  'gen_ai.operation.name',
  'gen_ai.provider.name',
  'gen_ai.request.model',
  'gen_ai.response.model',
  'gen_ai.usage.input_tokens',
  'gen_ai.usage.output_tokens',
  'gen_ai.usage.cache_read.input_tokens',
  'gen_ai.response.finish_reasons',
];

interface Export {
  path: string | undefined;
  headers: IncomingHttpHeaders;
  body: Buffer;
  status: number;
}

/** Accepts traces in protobuf, as Phoenix does, and nothing else. */
function accept({ path, headers }: Pick<Export, 'path' | 'headers'>): number {
  if (!path?.endsWith('/v1/traces')) return 405;
  return headers['content-type'] === 'application/x-protobuf' ? 200 : 415;
}

describe('export over OTLP to backends that accept traces in protobuf only', () => {
  const exports: Export[] = [];
  let server: Server;
  let url: string;
  before(async () => {
    server = createServer(async (request, response) => {
      const { url: path, headers } = request;
      const status = accept({ path, headers });
      exports.push({ path, headers, body: await buffer(request), status });
      response.writeHead(status, { 'content-type': 'application/x-protobuf' }).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(() => void server.close());

  /** Exports a call of a job with these variables. Returns what arrived. */
  const exportCall = async (variables: Record<string, string>): Promise<Export[]> => {
    exports.length = 0;
    const settings = readOtlp(variables);
    assert.ok(settings);
    const parts = { version: '1', metrics: new Registry(), logger: createLogger('silent') };
    const telemetry = new Telemetry(settings, parts);
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
    await withTraceHeaders({}, () =>
      telemetry.traceJob('run-batch', { traceparent }, async () => telemetry.traceCall(CALL)),
    );
    await telemetry.close();
    return exports.splice(0);
  };

  it('sends what Langfuse needs: its path, its authorization and the attributes of a generation', async () => {
    const received = await exportCall({
      OTEL_EXPORTER_OTLP_ENDPOINT: `${url}/api/public/otel`,
      OTEL_EXPORTER_OTLP_HEADERS: 'Authorization=Basic%20cGstbGY6c2stbGY=,x-langfuse-ingestion-version=4',
      OTEL_METRICS_EXPORTER: 'none',
    });
    assert.deepEqual(
      received.map(({ path, status }) => [path, status]),
      [['/api/public/otel/v1/traces', 200]],
    );
    assert.equal(received[0]?.headers.authorization, 'Basic cGstbGY6c2stbGY=');
    assert.equal(received[0]?.headers['x-langfuse-ingestion-version'], '4');
    for (const attribute of READ_BY_BACKENDS) assert.ok(received[0]?.body.includes(attribute), attribute);
    assert.ok(received[0]?.body.includes(Buffer.from('a'.repeat(32), 'hex')), 'link to the enqueuing trace');
  });

  it('sends what Phoenix needs: traces to their own address, and no metrics', async () => {
    const received = await exportCall({
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${url}/v1/traces`,
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'Authorization=Bearer%20key',
    });
    assert.deepEqual(
      received.map(({ path, status }) => [path, status]),
      [['/v1/traces', 200]],
    );
    assert.equal(received[0]?.headers.authorization, 'Bearer key');
  });
});
