import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { describe, it } from 'node:test';
import { createLogger } from '../../lib/logger.ts';
import { forwardLog, logLevel, parseLogLine } from './server-log.ts';

const level = (line: string) => {
  const message = parseLogLine(line);
  return message === null ? null : logLevel(message);
};

describe('the log of the embedded server', () => {
  it('is parsed into backend, process, SQLSTATE, severity and message', () => {
    assert.deepEqual(parseLogLine('startup|17|00000|LOG:  redo in progress, elapsed time: 10.00 s'), {
      backend: 'startup',
      pid: 17,
      sqlState: '00000',
      severity: 'LOG',
      message: 'redo in progress, elapsed time: 10.00 s',
    });
    for (const line of ['', '\tsecond line', 'postgres: error while loading shared libraries', 'a|b|c|LOG:  x']) {
      assert.equal(parseLogLine(line), null, line);
    }
  });

  it('is logged by severity: crash recovery at info, routine at debug', () => {
    assert.equal(level('startup|1|00000|LOG:  redo in progress, elapsed time: 10.00 s'), 'info');
    assert.equal(level('startup|1|00000|LOG:  database system was shut down at 2026-01-01'), 'debug');
    assert.equal(level('postmaster|1|00000|LOG:  database system is ready to accept connections'), 'debug');
    assert.equal(level('autovacuum worker|1|XX001|WARNING:  page verification failed'), 'warn');
    assert.equal(level('autovacuum worker|1|57014|ERROR:  canceling autovacuum task'), 'debug');
    assert.equal(level('autovacuum worker|1|XX001|ERROR:  invalid page in block 3'), 'error');
    assert.equal(level('checkpointer|1|57014|ERROR:  canceling statement'), 'error');
    assert.equal(level('checkpointer|1|53100|ERROR:  could not write to file'), 'error');
    assert.equal(level('postmaster|1|F0000|FATAL:  could not create lock file'), 'error');
    assert.equal(level('client backend|1|57P01|FATAL:  terminating connection'), 'debug');
    assert.equal(level('dead-end client backend|1|57P03|FATAL:  the database system is starting up'), 'debug');
    assert.equal(level('client backend|1|53100|PANIC:  could not write to file'), 'error');
  });

  it('never shows what a statement quotes, and keeps fatal messages for the error of a start', async () => {
    const written: string[] = [];
    const logger = createLogger('trace', { write: (line: string) => void written.push(line) });
    const stderr = new PassThrough();
    const log = forwardLog(stderr, logger);
    stderr.write('client backend|1|22P02|ERROR:  invalid input syntax for type integer: "walrus"\n\twalrus\n');
    stderr.write('client backend|1|57P01|FATAL:  terminating connection\npostmaster|1|XX000|FATAL:  no space\n');
    stderr.end('initdb: cannot open shared object file\n');
    await new Promise((resolve) => stderr.once('close', resolve));
    assert.doesNotMatch(written.join(''), /walrus/);
    assert.deepEqual(log.failures, ['no space', 'initdb: cannot open shared object file']);
  });
});
