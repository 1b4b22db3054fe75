import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import OpenAI, { toFile } from 'openai';
import { chatLine } from '../batches.ts';
import { useBackends } from './backends.ts';

const client = useBackends().openai;
const WINDOW = { endpoint: '/v1/chat/completions', completion_window: '24h' } as const;

describe('openai: batches', () => {
  const upload = async (lines: readonly string[]) => {
    const file = await toFile(Buffer.from(lines.join('\n')), 'lines.jsonl');
    return (await client().files.create({ file, purpose: 'batch' })).id;
  };
  const end = async (id: string) => {
    for (;;) {
      const batch = await client().batches.retrieve(id);
      if (['completed', 'failed', 'cancelled', 'expired'].includes(batch.status)) return batch;
      await pause(50);
    }
  };
  const lines = async (id: string | null | undefined) => {
    const text = await (await client().files.content(id ?? '')).text();
    return text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
  };

  it('create, retrieve and files.content of output and errors', async () => {
    const input_file_id = await upload([
      chatLine('good', 'Tell me about the fox.', { max_tokens: 5 }),
      chatLine('bad', 'Hi', { temperature: 9 }),
    ]);
    const made = await client().batches.create({ input_file_id, ...WINDOW, metadata: { run: 'nightly' } });
    assert.deepEqual([made.object, made.metadata], ['batch', { run: 'nightly' }]);
    const batch = await end(made.id);
    assert.equal(batch.status, 'completed');
    assert.deepEqual(batch.request_counts, { total: 2, completed: 1, failed: 1 });
    const [[output], [error]] = [await lines(batch.output_file_id), await lines(batch.error_file_id)];
    assert.equal(output.custom_id, 'good');
    assert.equal(output.response.body.usage.completion_tokens, 5);
    assert.deepEqual([error.custom_id, error.response.status_code], ['bad', 400]);
  });

  it('list iterates over all pages; cancel and its error', async () => {
    const input_file_id = await upload([chatLine('a', 'Hi', { max_tokens: 1 })]);
    const ids: string[] = [];
    for (let n = 0; n < 3; n += 1) ids.push((await client().batches.create({ input_file_id, ...WINDOW })).id);
    const seen: string[] = [];
    for await (const { id } of client().batches.list({ limit: 2 })) seen.push(id);
    assert.deepEqual(seen.slice(-3), ids);
    await Promise.all(ids.map(end));
    await assert.rejects(client().batches.cancel(ids[0] ?? ''), (error) => {
      assert.ok(error instanceof OpenAI.ConflictError);
      assert.equal(error.code, 'batch_not_cancellable');
      return true;
    });
    const running = await client().batches.create({ input_file_id: await upload([chatLine('b', 'Hi')]), ...WINDOW });
    const cancelled = await client().batches.cancel(running.id);
    assert.ok(['cancelling', 'cancelled'].includes(cancelled.status));
  });

  it('validation errors of a failed batch', async () => {
    const made = await client().batches.create({ input_file_id: await upload(['{}']), ...WINDOW });
    const { status, errors } = await end(made.id);
    assert.equal(status, 'failed');
    assert.deepEqual(
      errors?.data?.map(({ code, line, param }) => ({ code, line, param })),
      [{ code: 'missing_required_field', line: 1, param: 'custom_id' }],
    );
  });
});
