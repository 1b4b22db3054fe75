import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { MAX_BATCH_LINES, MAX_LINE_BYTES } from '../../src/batches/schema.ts';
import { BATCH_JOBS, workBatches } from '../batch-jobs.ts';
import { batchLine, callBatches, chatLine, uploadBatchFile, waitForBatch } from '../batches.ts';
import { useApi } from '../harness.ts';
import { scaled } from './scale.ts';

const ENDPOINT = '/v1/chat/completions';
const TIMEOUT_MS = 240_000;

describe('files at the limits of batches', () => {
  const api = useApi({ jobs: BATCH_JOBS });
  before(() => workBatches(api.deps, 16));

  const runFile = async (content: string) => {
    const body = { input_file_id: await uploadBatchFile(api, content), endpoint: ENDPOINT, completion_window: '24h' };
    return waitForBatch(api, (await callBatches(api, 'POST', '', body)).id, undefined, TIMEOUT_MS);
  };
  const defects = ({ errors }: { errors: { data: Record<string, unknown>[] } }) =>
    errors.data.map(({ line, code }) => `${line} ${code}`);

  it('rejects 50,001 requests and names the line', async () => {
    const lines = Array.from({ length: MAX_BATCH_LINES + 1 }, (_, n) => batchLine(String(n), ENDPOINT, {}));
    const batch = await runFile(lines.join('\n'));
    assert.deepEqual([batch.status, defects(batch)], ['failed', [`${MAX_BATCH_LINES + 1} too_many_requests_in_batch`]]);
  });

  it('runs a line of 16 MiB, and rejects a longer one', async () => {
    const line = chatLine('long', 'Hi', { user: '' });
    const fill = (bytes: number) => line.replace('"user":""', `"user":"${'x'.repeat(bytes - line.length)}"`);
    const batch = await runFile(`${fill(MAX_LINE_BYTES)}\r\n${chatLine('b', 'Hi')}`);
    assert.deepEqual(batch.request_counts, { total: 2, completed: 2, failed: 0 });
    assert.deepEqual(defects(await runFile(`${fill(MAX_LINE_BYTES + 1)}\n${chatLine('b', 'Hi')}\n`)), [
      '1 line_too_large',
    ]);
  });

  it('runs as many requests as are allowed', async () => {
    const count = scaled(MAX_BATCH_LINES, 2_000);
    const lines = Array.from({ length: count }, (_, n) => chatLine(`line-${n}`, `Hi ${n}`));
    const batch = await runFile(lines.join('\n'));
    assert.deepEqual(batch.request_counts, { total: count, completed: count, failed: 0 });
  });

  it('rejects a line of nested brackets without parsing it', async () => {
    const bomb = `{"custom_id":"a","method":"POST","url":"${ENDPOINT}","body":${'['.repeat(4_000_000)}`;
    assert.deepEqual(defects(await runFile(bomb)), ['1 invalid_json_line']);
  });
});
