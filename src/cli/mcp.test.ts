import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { bridge } from './mcp.ts';

type Send = Parameters<typeof bridge>[0]['send'];
type Options = Parameters<Send>[3];

const json = (value: object) =>
  new Response(JSON.stringify(value), { headers: { 'content-type': 'application/json' } });
const events = (...values: object[]) =>
  new Response(values.map((value) => `event: message\ndata: ${JSON.stringify(value)}\n\n`).join(''), {
    headers: { 'content-type': 'text/event-stream' },
  });

/** Runs the bridge on messages. Returns what it wrote, and the options of the requests. */
async function run(
  messages: readonly (object | string)[],
  send: (message: { id: number }, options: Options) => Promise<Response>,
) {
  const written: object[] = [];
  const sent: Options[] = [];
  const lines = (async function* () {
    for (const message of messages) yield typeof message === 'string' ? message : JSON.stringify(message);
  })();
  const api = {
    send: (_method: string, _path: string, body?: object, options?: Options) => {
      sent.push(options);
      return send(body as { id: number }, options);
    },
  };
  await bridge(api, lines, (line) => void written.push(JSON.parse(line)));
  return { written, sent };
}

describe('quire mcp', () => {
  it('writes every message of a response as a line, whole and streamed', async () => {
    const progress = { jsonrpc: '2.0', method: 'notifications/progress' };
    const result = { jsonrpc: '2.0', id: 'a "1"', result: { text: 'line\nbreak' } };
    for (const response of [() => events(progress, result), () => json(result)]) {
      const { written } = await run([{ jsonrpc: '2.0', id: 'a "1"', method: 'tools/call' }], async () => response());
      assert.deepEqual(written.at(-1), result);
    }
  });

  it('names the method, the tool and the negotiated version in headers', async () => {
    const initialized = { jsonrpc: '2.0', id: 1, result: { protocolVersion: '2025-11-25' } };
    const { sent } = await run(
      [
        { jsonrpc: '2.0', id: 1, method: 'initialize', params: {} },
        { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'search' } },
        {
          jsonrpc: '2.0',
          id: 3,
          method: 'resources/read',
          params: { uri: 'quire://x', _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } },
        },
      ],
      async () => json(initialized),
    );
    const headers = sent.map((options) => {
      const { accept: _, ...rest } = options?.headers ?? {};
      return rest;
    });
    assert.deepEqual(headers, [
      { 'mcp-method': 'initialize' },
      { 'mcp-protocol-version': '2025-11-25', 'mcp-method': 'tools/call', 'mcp-name': 'search' },
      { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'resources/read', 'mcp-name': 'quire://x' },
    ]);
  });

  it('answers what fails, goes on after a line that is no message, and writes nothing for notifications', async () => {
    const { written } = await run(
      [
        '{',
        '',
        '[]',
        { jsonrpc: '2.0', method: 'notifications/initialized' },
        { jsonrpc: '2.0', id: 5, method: 'ping' },
      ],
      async (message) => {
        if (message.id === 5) throw new Error('The service is gone.');
        return new Response(null, { status: 202 });
      },
    );
    const errors = written as { id: unknown; error: { code: number; message: string } }[];
    assert.deepEqual(
      errors.map(({ id, error }) => [id, error.code]),
      [
        [null, -32_700],
        [null, -32_700],
        [5, -32_000],
      ],
    );
    assert.equal(errors.at(-1)?.error.message, 'The service is gone.');
  });

  it('cancels the request that the client names, and no other', async () => {
    const aborted: number[] = [];
    const { written } = await run(
      [
        { jsonrpc: '2.0', id: 1, method: 'tools/call' },
        { jsonrpc: '2.0', id: 2, method: 'tools/call' },
        { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } },
      ],
      async ({ id }, options) => {
        for (let turn = 0; turn < 5; turn += 1) await nextTurn();
        if (options?.signal?.aborted) aborted.push(id);
        options?.signal?.throwIfAborted();
        return json({ jsonrpc: '2.0', id, result: {} });
      },
    );
    assert.deepEqual(aborted, [1]);
    assert.deepEqual(written, [{ jsonrpc: '2.0', id: 2, result: {} }]);
  });
});
