import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import { promisify } from 'node:util';
import { createLogger, openLogDestination } from './logger.ts';

const asStderr = (stream: PassThrough) => stream as unknown as NodeJS.WriteStream;

describe('the JSON log', () => {
  let output: PassThrough;
  const writes: string[] = [];
  const open = async () => createLogger('info', await openLogDestination('json', asStderr(output)));
  const messages = () => writes.map((lines) => [...lines.matchAll(/"msg":"(\w+)"/g)].map(([, message]) => message));
  beforeEach(() => {
    mock.timers.enable({ apis: ['setTimeout'] });
    writes.length = 0;
    output = new PassThrough();
    output.on('data', (data) => writes.push(String(data)));
  });
  afterEach(() => mock.timers.reset());

  it('writes lines of level info together, within 50 ms', async () => {
    const logger = await open();
    logger.info('first');
    logger.info('second');
    assert.deepEqual(messages(), []);
    mock.timers.tick(50);
    assert.deepEqual(messages(), [['first', 'second']]);
    logger.info('third');
    mock.timers.tick(50);
    assert.deepEqual(messages(), [['first', 'second'], ['third']]);
  });

  it('writes a warning immediately, after the lines before it', async () => {
    const logger = await open();
    logger.info('first');
    logger.warn('second');
    assert.deepEqual(messages(), [['first', 'second']]);
    mock.timers.tick(50);
    assert.deepEqual(messages(), [['first', 'second']]);
  });

  it('buffers 64 KiB at most', async () => {
    const logger = await open();
    for (let line = 0; line < 20; line += 1) logger.info({ text: 'x'.repeat(7_000) }, 'line');
    assert.deepEqual(messages().flat().length, 20 - (20 % 10));
  });

  it('writes the rest when the process exits', async () => {
    const script = `
      const { createLogger, openLogDestination } = await import(${JSON.stringify(new URL('./logger.ts', import.meta.url).href)});
      const logger = createLogger('info', await openLogDestination('json'));
      logger.info('last');
      process.exit();
    `;
    const { stderr } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);
    assert.match(stderr, /"msg":"last"/);
  });

  it('censors fields that hold secrets', async () => {
    (await open()).warn({ headers: { authorization: 'Bearer x' } }, 'request');
    assert.match(writes.join(''), /"authorization":"\[redacted\]"/);
  });
});
