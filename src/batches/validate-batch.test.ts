import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { BATCH_JOBS, workBatches } from '../../test/batch-jobs.ts';
import { callBatches, chatLine, createBatchOf, uploadBatchFile, waitForBatch } from '../../test/batches.ts';
import { assertSchema, useApi } from '../../test/harness.ts';
import { countLines } from './line-store.ts';
import { LineDefect, parseLine } from './parse-line.ts';
import { Batch } from './schema.ts';
import { type FileLine, splitLines } from './split-lines.ts';
import { selectBatch } from './store.ts';
import { validateBatch } from './validate-batch.ts';

const URL = '/v1/chat/completions';

describe('validation of batches', () => {
  const api = useApi({ jobs: BATCH_JOBS });
  before(() => workBatches(api.deps, 4));

  const runFile = async (content: string | Uint8Array) => {
    const input_file_id = await uploadBatchFile(api, content);
    const body = { input_file_id, endpoint: URL, completion_window: '24h' };
    return waitForBatch(api, (await callBatches(api, 'POST', '', body)).id);
  };
  /** Asserts that the file is rejected. Returns `line code param` of each error. */
  const errorsOf = async (content: string | Uint8Array): Promise<string[]> => {
    const batch = await runFile(content);
    assertSchema(Batch, batch);
    assert.equal(batch.status, 'failed', JSON.stringify(batch));
    assert.ok(batch.failed_at !== null);
    assert.deepEqual([batch.output_file_id, batch.error_file_id, batch.request_counts.total], [null, null, 0]);
    const file = await api.send('GET', `/v1/files/${batch.input_file_id}`);
    assert.equal(file.json.status, 'error');
    assert.ok(file.json.status_details.length > 0);
    assert.equal((await api.send('DELETE', `/v1/files/${batch.input_file_id}`)).status, 200);
    return batch.errors.data.map(({ line, code, param }: Record<string, unknown>) => `${line} ${code} ${param}`);
  };

  it('reports each defect with its line', async () => {
    const good = chatLine('good', 'Hi');
    const line = (changes: object) => JSON.stringify({ ...JSON.parse(good), ...changes });
    const lines = [
      [good, null],
      ['', null],
      ['{"custom_id": ', 'invalid_json_line null'],
      ['[1]', 'invalid_json_line null'],
      [line({ custom_id: undefined }), 'missing_required_field custom_id'],
      [line({ custom_id: 5 }), 'missing_required_field custom_id'],
      [line({ custom_id: 'x'.repeat(513) }), 'invalid_json_line custom_id'],
      [line({ custom_id: 'nul \0' }), 'invalid_json_line custom_id'],
      [line({ custom_id: 'method', method: undefined }), 'missing_required_field method'],
      [line({ custom_id: 'get', method: 'GET' }), 'invalid_method method'],
      [line({ custom_id: 'url', url: undefined }), 'missing_required_field url'],
      [line({ custom_id: 'other', url: '/v1/embeddings' }), 'invalid_url url'],
      [line({ custom_id: 'body', body: undefined }), 'missing_required_field body'],
      [line({ custom_id: 'text', body: 'text' }), 'invalid_json_line body'],
      [good, 'duplicate_custom_id custom_id'],
      [chatLine('stream', 'Hi', { stream: true }), 'streaming_unsupported body.stream'],
      [chatLine('model', 'Hi', { model: 'nobody' }), 'model_not_found body.model'],
      [chatLine('kind', 'Hi', { model: 'embed-large-en-v1.5' }), 'model_not_found body.model'],
      ['['.repeat(200_000), 'invalid_json_line null'],
    ] as const;
    const expected = lines.flatMap(([, defect], at) => (defect === null ? [] : [`${at + 1} ${defect}`]));
    assert.deepEqual(await errorsOf(lines.map(([text]) => text).join('\n')), expected);
  });

  it('rejects a file of blank lines', async () => {
    assert.deepEqual(await errorsOf('\n \r\n\t\n'), ['null empty_file null']);
  });

  it('accepts a byte order mark, CRLF, blank lines and a last line without a line break', async () => {
    const content = `\ufeff${chatLine('a', 'Hi')}\r\n\r\n  \r\n${chatLine('b', 'Ho')}\r\n${chatLine('c', 'Ha')}`;
    const batch = await runFile(content);
    assert.deepEqual([batch.status, batch.request_counts.completed], ['completed', 3]);
    assert.equal((await runFile(chatLine('one', 'Hi'))).request_counts.completed, 1);
  });

  it('reports at most 1,000 errors', async () => {
    assert.equal((await errorsOf('{}\n'.repeat(1_200))).length, 1_000);
  });
});

describe('the validation of a batch that is cancelled while its file is read', () => {
  // Without a worker: the test validates.
  const api = useApi({ jobs: BATCH_JOBS });

  it('changes nothing and stores no line', async () => {
    const { id } = await createBatchOf(api, [chatLine('a', 'Hi'), chatLine('b "quoted"', 'Hi')]);
    const { organizationId } = await api.makeKey({});
    const row = await selectBatch(api.db.sql, organizationId, id);
    assert.ok(row?.status === 'validating');
    const { blobs } = api.deps;
    const cancelling = Object.assign(Object.create(blobs) as typeof blobs, {
      read: async (...parameters: Parameters<typeof blobs.read>) => {
        assert.equal((await callBatches(api, 'POST', `/${id}/cancel`)).status, 'cancelled');
        return blobs.read(...parameters);
      },
    });
    await validateBatch({ ...api.deps, blobs: cancelling }, row, new AbortController().signal);
    const batch = await callBatches(api, 'GET', `/${id}`);
    assert.deepEqual([batch.status, batch.in_progress_at, batch.request_counts.total], ['cancelled', null, 0]);
    assert.equal(await countLines(api.db.sql, id), 0);
  });
});

describe('splitLines', () => {
  const split = async (content: Buffer, chunkBytes: number, maxBytes = 16): Promise<FileLine[]> => {
    const chunks = Array.from({ length: Math.ceil(content.length / chunkBytes) }, (_, n) =>
      content.subarray(n * chunkBytes, (n + 1) * chunkBytes),
    );
    return Array.fromAsync(
      splitLines(
        (async function* () {
          yield* chunks;
        })(),
        maxBytes,
      ),
    );
  };

  it('gives the same lines and offsets for every size of chunks', async () => {
    const content = Buffer.from('\ufefffirst\r\n\n  \nsecond\n0123456789abcdef\n0123456789abcdefg\r\nlast');
    for (let size = 1; size <= content.length; size += 1) {
      const lines = await split(content, size);
      const summary = lines.map(({ number, start, bytes, content: text }) => {
        if (text !== null) assert.deepEqual(text, content.subarray(start, start + bytes));
        return `${number} ${text ?? bytes}`;
      });
      assert.deepEqual(summary, ['1 first', '4 second', '5 0123456789abcdef', '6 17', '7 last'], `chunks of ${size}`);
    }
  });
});

describe('parseLine', () => {
  it('rejects invalid UTF-8', () => {
    const content = Buffer.concat([Buffer.from('{"custom_id": "'), Buffer.from([0xff]), Buffer.from('"}')]);
    const isDefect = (error: unknown) => error instanceof LineDefect && error.code === 'invalid_json_line';
    assert.throws(() => parseLine({ content }, URL), isDefect);
  });
});
