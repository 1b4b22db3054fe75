/**
 * Preload of a service under `bench/gateway/tail/run.ts`: records each chat completion with what happened beside it.
 * On SIGUSR2, writes the records to the file `QUIRE_TEST_TRACE` and begins again. Plain JavaScript: loaded with
 * `--import`.
 */
import diagnostics from 'node:diagnostics_channel';
import { renameSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import { PerformanceObserver } from 'node:perf_hooks';

const file = process.env['QUIRE_TEST_TRACE'];

/** CPU time of the main thread, in milliseconds: independent of other load on the machine. */
function threadCpuMs() {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** Intervals are `[startMs, durationMs, ...]`; calls and timers have the CPU time of the thread as third field. */
let records = { calls: [], timers: [], collections: [], statements: [], upstream: [] };

function recordTimers(name) {
  const original = globalThis[name];
  const recorded = (callback, ...rest) => {
    const [, , site = ''] = (new Error().stack ?? '').split('\n');
    const where = site.trim().replace(/.*\/(src|node_modules)\//, '$1/');
    const run = (...values) => {
      const [startMs, cpuMs] = [performance.now(), threadCpuMs()];
      try {
        callback(...values);
      } finally {
        records.timers.push([startMs, performance.now() - startMs, threadCpuMs() - cpuMs, where]);
      }
    };
    return original(run, ...rest);
  };
  globalThis[name] = Object.assign(recorded, original);
}

function recordCalls() {
  const { emit } = http.Server.prototype;
  http.Server.prototype.emit = function emitRecorded(type, ...values) {
    const [request, response] = values;
    if (type === 'request' && request.url === '/v1/chat/completions') {
      const [startMs, cpuMs] = [performance.now(), threadCpuMs()];
      response.once('close', () => records.calls.push([startMs, performance.now() - startMs, threadCpuMs() - cpuMs]));
    }
    return Reflect.apply(emit, this, [type, ...values]);
  };
}

function recordStatements() {
  const { Client } = createRequire(import.meta.url)('pg');
  const { query } = Client.prototype;
  Client.prototype.query = function queryRecorded(...values) {
    const startMs = performance.now();
    const name = String(values[0]?.name ?? values[0]?.text ?? values[0]).slice(0, 60);
    const end = () => records.statements.push([startMs, performance.now() - startMs, name]);
    const at = values.findLastIndex((value) => typeof value === 'function');
    if (at !== -1) {
      const callback = values[at];
      values[at] = (...results) => {
        end();
        callback(...results);
      };
    }
    const result = Reflect.apply(query, this, values);
    if (at === -1 && typeof result?.then === 'function') result.then(end, end);
    return result;
  };
}

function recordUpstream() {
  const startedMs = new WeakMap();
  diagnostics.subscribe('undici:request:create', ({ request }) => startedMs.set(request, performance.now()));
  diagnostics.subscribe('undici:request:trailers', ({ request }) => {
    const startMs = startedMs.get(request);
    if (startMs !== undefined) records.upstream.push([startMs, performance.now() - startMs]);
  });
}

if (file !== undefined && process.argv.includes('serve')) {
  recordTimers('setTimeout');
  recordTimers('setInterval');
  recordCalls();
  recordStatements();
  recordUpstream();
  new PerformanceObserver((list) => {
    for (const { startTime, duration, detail } of list.getEntries())
      records.collections.push([startTime, duration, detail.kind]);
  }).observe({ entryTypes: ['gc'] });
  process.on('SIGUSR2', () => {
    writeFileSync(`${file}.new`, JSON.stringify(records));
    renameSync(`${file}.new`, file);
    records = { calls: [], timers: [], collections: [], statements: [], upstream: [] };
  });
}
