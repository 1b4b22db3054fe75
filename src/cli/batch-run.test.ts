import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it, mock } from 'node:test';
import { BATCH_JOBS, workBatches } from '../../test/batch-jobs.ts';
import { chatLine } from '../../test/batches.ts';
import { useApi } from '../../test/harness.ts';
import { stream, words } from '../../test/scripted-engine.ts';
import { main } from '../main.ts';

const ENDPOINT = '/v1/chat/completions';

describe('quire batch run', () => {
  const api = useApi({ jobs: BATCH_JOBS });
  const folder = mkdtempSync(join(tmpdir(), 'quire-batch-'));
  const path = join(folder, 'lines.jsonl');
  after(() => rmSync(folder, { recursive: true, force: true }));
  before(() => {
    workBatches(api.deps, 4);
    process.env['QUIRE_URL'] = api.url;
    process.env['QUIRE_API_KEY'] = api.key;
  });
  beforeEach(() => api.engine.play(() => stream(words('Hello there.'))));

  /** Runs the command in this process. Calls `onStatus` with each progress line as it is written. */
  const run = async (lines: readonly string[], onStatus: (text: string) => void = () => {}) => {
    writeFileSync(path, lines.join('\n'));
    const written: string[] = [];
    const printed: string[] = [];
    mock.method(console, 'log', (text: string) => printed.push(text));
    mock.method(console, 'error', (text: string) => written.push(text));
    mock.method(process.stderr, 'write', (text: string) => {
      written.push(text);
      onStatus(text);
      return true;
    });
    const code = await main(['batch', 'run', path, '--endpoint', ENDPOINT]);
    mock.restoreAll();
    return { code, stdout: printed.join('\n'), stderr: written.join('\n') };
  };
  const results = (name: string) =>
    readFileSync(join(folder, name), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).custom_id);

  it('uploads the file, shows progress and writes the results', async () => {
    const { code, stdout, stderr } = await run([chatLine('a', 'Hi'), chatLine('b', 'Ho')]);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^Batch batch_\w+: completed, 2 of 2 requests completed\.\nResults: .*lines\.output\.jsonl$/);
    assert.match(stderr, /1\/1 uploading[\s\S]*2\/2 completed/);
    assert.deepEqual(results('lines.output.jsonl'), ['a', 'b']);
    assert.ok(!existsSync(`${path}.batch`) && !existsSync(join(folder, 'lines.errors.jsonl')));
  });

  it('exits with 1 and writes the errors when a request fails', async () => {
    const { code, stdout, stderr } = await run([chatLine('a', 'Hi'), chatLine('bad', 'Hi', { temperature: 9 })]);
    assert.equal(code, 1);
    assert.match(stdout, /1 of 2 requests completed\.\nResults: .*\nFailed requests: .*lines\.errors\.jsonl$/);
    assert.match(stderr, /1 request failed\./);
    assert.deepEqual(results('lines.errors.jsonl'), ['bad']);
  });

  it('lists the defects of a file that is rejected', async () => {
    const { code, stdout } = await run([chatLine('a', 'Hi'), '{}']);
    assert.equal(code, 1);
    assert.match(stdout, /: failed, [\s\S]*\nLine 2: missing_required_field: 'custom_id' is required\.$/);
  });

  it('leaves the batch running after Ctrl-C, and watches it again', async () => {
    const gate = Promise.withResolvers<void>();
    api.engine.play(() =>
      (async function* () {
        await gate.promise;
        yield* words('Done.');
      })(),
    );
    const lines = [chatLine('a', 'Hi')];
    const stopped = await run(lines, (text) => {
      if (text.includes('in-progress')) process.emit('SIGINT');
    });
    assert.equal(stopped.code, 130, stopped.stderr);
    const [id = ''] = /batch_\w+/.exec(stopped.stderr) ?? [];
    gate.resolve();
    const again = await run(lines);
    assert.equal(again.code, 0, again.stderr);
    assert.match(again.stderr, new RegExp(`Watching batch ${id}`));
    assert.match(again.stdout, new RegExp(`^Batch ${id}: completed`));
    assert.equal(
      (await api.send('GET', '/v1/batches')).json.data.filter((one: { id: string }) => one.id === id).length,
      1,
    );
  });
});
