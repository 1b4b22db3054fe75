import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { describe, it } from 'node:test';
import { type Service, until, useService } from '../spawned-service.ts';
import { startProbe } from './probe.ts';
import { IS_SHORT, scaled } from './scale.ts';

const MB = 1_000_000;
/** Twice the bound of 100 ms, because CI machines run other work. */
const MAX_STALL_MS = 200;
/** RSS growth over an attack, after the service has collected its garbage. */
const MAX_GROWTH_MB = 100;

/**
 * Sends one request over its own connection at full speed. Resolves with the status; null when the connection breaks.
 */
function post(url: string, path: string, headers: Record<string, string>, body: Buffer): Promise<number | null> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    let head = '';
    const socket = connect(Number(port), hostname, () => {
      const lines = Object.entries({ host: 'x', 'content-length': String(body.length), ...headers });
      socket.write(
        `POST ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}`).join('\r\n')}\r\n\r\n`,
      );
      socket.write(body);
    });
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      head += chunk.slice(0, 20);
      socket.end();
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(head === '' ? null : Number(head.split(' ')[1])));
  });
}

/** Creates JSON of about `bytes` bytes: `open`, repeated `unit` with its separator, `close`. */
function filled(bytes: number, open: string, unit: string, close: string): Buffer {
  const units = unit.repeat(Math.floor(bytes / unit.length));
  return Buffer.from(open + (unit.endsWith(',') ? units.slice(0, -1) : units) + close);
}

/** Bodies with the highest cost to parse, check or buffer, by size. */
const WORST: Record<string, (bytes: number) => Buffer> = {
  'an array of empty objects': (bytes) => filled(bytes, '{"x":[', '{},', ']}'),
  'an array of numbers': (bytes) => filled(bytes, '{"x":[', '1,', ']}'),
  'arrays in arrays': (bytes) => Buffer.from(`{"x":${'['.repeat(bytes / 2)}${']'.repeat(bytes / 2)}}`),
  'an object of many names': (bytes) =>
    Buffer.from(`{${Array.from({ length: bytes / 12 }, (_, at) => `"k${at}":0`).join()}}`),
  'long names': (bytes) =>
    Buffer.from(`{${Array.from({ length: bytes / 620 }, (_, at) => `"${'k'.repeat(600)}${at}":0`).join()}}`),
  'one string of escapes': (bytes) => filled(bytes, '{"x":"', '\\u4e2d', '"}'),
  'one long string': (bytes) => filled(bytes, '{"x":"', 'a', '"}'),
  'white space': (bytes) => filled(bytes, '{"x":', ' ', '1}'),
  'a long prompt': (bytes) =>
    filled(bytes, '{"model":"general-8b","messages":[{"role":"user","content":"', 'a word ', '"}]}'),
  'a message of many parts': (bytes) =>
    filled(
      bytes,
      '{"model":"general-8b","messages":[{"role":"user","content":[',
      '{"type":"text","text":"a"},',
      ']}]}',
    ),
};

const rssMb = (service: Service): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${service.pid}/status`, 'utf8'))?.[1]) / 1024;

describe('request bodies of a running service', () => {
  const service = useService();
  let before = 0;

  async function maxStall(send: () => Promise<unknown>): Promise<number> {
    const probe = await startProbe(service.url);
    await send();
    return Math.max(...(await probe.stop()));
  }

  it('a large body without a key stalls no other request', { timeout: 240_000 }, async (t) => {
    const body = filled(scaled(66, 16) * MB, '{"x":[', '{},', ']}');
    const json = { 'content-type': 'application/json' };
    before = rssMb(service);
    for (const [path, headers] of [
      ['/nope', json],
      ['/healthz', json],
      ['/v1/chat/completions', json],
      ['/v1/chat/completions', { ...json, authorization: 'Bearer quire-sk-unknown' }],
      ['/v1/files', { 'content-type': 'multipart/form-data; boundary=x', authorization: 'Bearer quire-sk-unknown' }],
    ] as const) {
      let status: number | null = null;
      const stall = await maxStall(async () => {
        status = await post(service.url, path, headers, body);
      });
      t.diagnostic(`${path}: ${status}, longest stall ${stall.toFixed(0)} ms, RSS ${rssMb(service).toFixed(0)} MB`);
      assert.ok(status !== null && status >= 400 && status < 500, `${path}: ${status}`);
      assert.ok(stall < MAX_STALL_MS, `${path} stalled others for ${stall} ms`);
    }
    assert.ok(rssMb(service) < before + 50, `RSS grew from ${before} to ${rssMb(service)} MB`);
  });

  for (const [name, make] of Object.entries(WORST)) {
    it(`with a key, ${name} stalls others for less than ${MAX_STALL_MS} ms`, { timeout: 240_000 }, async (t) => {
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${service.key}` };
      for (const megabytes of [10, scaled(64, 32)]) {
        const body = make(megabytes * MB);
        const stalls: number[] = [];
        let status: number | null = null;
        for (let round = 0; round < 3 && (round === 0 || Math.min(...stalls) > MAX_STALL_MS || !IS_SHORT); round += 1) {
          stalls.push(
            await maxStall(async () => {
              status = await post(service.url, '/v1/chat/completions', headers, body);
            }),
          );
        }
        const listed = stalls.map((stall) => stall.toFixed(0)).join(', ');
        t.diagnostic(`${megabytes} MB: ${status}, longest stalls ${listed} ms, RSS ${rssMb(service).toFixed(0)} MB`);
        assert.ok(status !== null && status >= 400 && status < 500, `${megabytes} MB: ${status}`);
        assert.ok(Math.min(...stalls) < MAX_STALL_MS, `${megabytes} MB stalled others for ${listed} ms`);
      }
    });
  }

  it('memory returns to its baseline', { timeout: 240_000 }, async () => {
    await until(() => rssMb(service) < before + MAX_GROWTH_MB);
  });
});
