import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkBatchFile } from './check-batch-file.ts';

const CHAT = '/v1/chat/completions';
const line = (custom_id: unknown, url: unknown = CHAT, body: unknown = { model: 'm', messages: [] }) =>
  JSON.stringify({ custom_id, method: 'POST', url, body });
const check = (...lines: string[]) => {
  const { signal } = new AbortController();
  return checkBatchFile(new Blob([lines.join('\n')]), { onProgress: () => {}, signal });
};

describe('the check of a batch file before its upload', () => {
  it('accepts one endpoint in a file: that of the first valid line', async () => {
    const { defects, endpoint, requests } = await check(
      line('a', '/v1/other'),
      line('b', '/v1/embeddings'),
      line('c'),
      line('d', '/v1/embeddings'),
    );
    assert.deepEqual([endpoint, requests], ['/v1/embeddings', 4]);
    assert.deepEqual(defects, [
      { line: 1, code: 'invalid_url', param: 'url' },
      { line: 3, code: 'invalid_url', param: 'url' },
    ]);
  });

  it('names each defect with its line, blank lines counted', async () => {
    const id = 'quotes " and \n breaks';
    const { defects, models } = await check(
      line(id),
      ' ',
      line(id),
      line(''),
      line('x'.repeat(513)),
      '[]',
      line('s', CHAT, { model: 'm', stream: true }),
      line('n', CHAT, null),
      line('no model', CHAT, {}),
    );
    assert.deepEqual(
      defects.map(({ line: number, code, param }) => `${number} ${code} ${param}`),
      [
        '3 duplicate_custom_id custom_id',
        '4 missing_required_field custom_id',
        '5 invalid_json_line custom_id',
        '6 invalid_json_line null',
        '7 streaming_unsupported body.stream',
        '8 missing_required_field body',
      ],
    );
    assert.deepEqual(
      [...models],
      [
        ['m', 1],
        ['', 1],
      ],
    );
  });
});
