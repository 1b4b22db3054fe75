import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { ModelThread } from './model-thread.ts';

/** Doubles numbers; other requests name a failure. */
const SCRIPT = `
  import { parentPort, workerData } from 'node:worker_threads';
  if (workerData.fail) throw new Error('no such model');
  parentPort.on('message', (work) => {
    if (work === 'exit') process.exit(3);
    if (work === 'throw') throw new Error('it broke');
    if (work !== 'hang') parentPort.postMessage({ type: 'done', result: 2 * work });
  });
  parentPort.postMessage({ type: 'loaded', loaded: workerData.name });
`;
const never = new AbortController().signal;

describe('ModelThread', () => {
  const threads: ModelThread<number | string, number, string>[] = [];
  const start = (data: () => object = () => ({ name: 'doubling' }), timeoutMs = 10_000) => {
    const script = new URL(`data:text/javascript,${encodeURIComponent(SCRIPT)}`);
    const thread = new ModelThread<number | string, number, string>({ name: 'test', script, data, timeoutMs });
    threads.push(thread);
    return thread;
  };
  after(() => Promise.all(threads.map((thread) => thread.close(new Error('the test is over')))));

  it('loads on demand and serves one request after another', async () => {
    const thread = start();
    assert.equal(thread.loaded, null);
    assert.equal(await thread.load(never), 'doubling');
    assert.equal(thread.loaded, 'doubling');
    assert.deepEqual([await thread.run(1), await thread.run(2)], [2, 4]);
  });

  it('loads with the first request', async () => {
    assert.equal(await start().run(3), 6);
  });

  it('rejects the request of a thread that exits or throws, and restarts for the next', async () => {
    const thread = start();
    await assert.rejects(thread.run('exit'), /the thread ended/);
    assert.equal(await thread.run(1), 2);
    await assert.rejects(thread.run('throw'), /it broke/);
    assert.equal(await thread.load(never), 'doubling');
    assert.equal(await thread.run(2), 4);
  });

  it('terminates a thread that exceeds the timeout', async () => {
    await assert.rejects(start(undefined, 50).run('hang'), /did not answer in time/);
  });

  it('rejects load with the reason, and loads once the reason is gone', async () => {
    let fail = true;
    const thread = start(() => ({ name: 'mended', fail }));
    await assert.rejects(thread.load(never), /no such model/);
    await assert.rejects(thread.run(1), /no such model/);
    fail = false;
    assert.equal(await thread.load(never), 'mended');
  });

  it('rejects load with the reason of an aborted signal', async () => {
    const controller = new AbortController();
    const loading = start().load(controller.signal);
    controller.abort(new Error('left'));
    await assert.rejects(loading, /left/);
  });

  it('rejects pending and later requests with the reason of close', async () => {
    const thread = start();
    const running = assert.rejects(thread.run('hang'), /closing/);
    await thread.close(new Error('closing'));
    await running;
    await assert.rejects(async () => thread.run(1), /closing/);
    await assert.rejects(thread.load(never), /closing/);
    await thread.close(new Error('again'));
  });
});
