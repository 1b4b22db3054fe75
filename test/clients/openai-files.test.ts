import assert from 'node:assert/strict';
import { createReadStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import OpenAI, { toFile } from 'openai';
import { useBackends } from './backends.ts';

const client = useBackends().openai;
const LINE = '{"custom_id":"1","method":"POST","url":"/v1/embeddings","body":{"input":"a"}}\n';

describe('openai: files', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'quire-openai-'));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('create from a file stream, retrieve, content and delete', async () => {
    const path = join(folder, 'lines.jsonl');
    writeFileSync(path, LINE.repeat(20_000));
    const { files } = client();
    const made = await files.create({ file: createReadStream(path), purpose: 'batch' });
    assert.match(made.id, /^file-/);
    assert.deepEqual([made.bytes, made.filename, made.status], [LINE.length * 20_000, 'lines.jsonl', 'uploaded']);
    const processed = await files.waitForProcessing(made.id, { pollInterval: 10 });
    assert.deepEqual(processed, { ...made, status: 'processed' });
    assert.deepEqual(await files.retrieve(made.id), processed);
    const content = await files.content(made.id);
    assert.equal(await content.text(), LINE.repeat(20_000));
    assert.deepEqual(await files.delete(made.id), { id: made.id, object: 'file', deleted: true });
    await assert.rejects(files.retrieve(made.id), OpenAI.NotFoundError);
  });

  it('create from bytes, with a non-ASCII name and unknown fields', async () => {
    const { files } = client();
    const file = await toFile(Buffer.from(LINE), 'd\u00e9j\u00e0 vu.jsonl');
    const made = await files.create({
      file,
      purpose: 'fine-tune',
      expires_after: { anchor: 'created_at', seconds: 3600 },
    });
    assert.equal(made.filename, 'd\u00e9j\u00e0 vu.jsonl');
    assert.equal((await files.content(made.id)).headers.get('content-type'), 'application/x-ndjson');
  });

  it('list iterates over all pages of a purpose', async () => {
    const { files } = client();
    const ids: string[] = [];
    for (let at = 0; at < 5; at += 1) {
      const made = await files.create({ file: await toFile(Buffer.from(LINE), `${at}.jsonl`), purpose: 'batch' });
      ids.push(made.id);
    }
    const seen: string[] = [];
    for await (const file of files.list({ purpose: 'batch', limit: 2 })) seen.push(file.id);
    assert.deepEqual(seen.slice(-5), ids);
  });

  it('tell what is wrong as errors of the client', async () => {
    const { files } = client();
    const exe = toFile(Buffer.from('x'), 'a.exe');
    await assert.rejects(files.create({ file: await exe, purpose: 'batch' }), (error) => {
      assert.ok(error instanceof OpenAI.BadRequestError);
      assert.deepEqual([error.code, error.param], ['invalid_value', 'file']);
      return true;
    });
    const lines = toFile(Buffer.from('{}\nnot json\n'), 'a.jsonl');
    await assert.rejects(files.create({ file: await lines, purpose: 'fine-tune' }), /line 2 /);
    const stranger = client({ apiKey: 'quire-sk-unknown-unknown' });
    const large = await toFile(Buffer.alloc(20_000_000, 'x'), 'a.txt');
    await assert.rejects(stranger.files.create({ file: large, purpose: 'batch' }), (error) => {
      // The response, or the end of the connection if the client is still sending when the response arrives.
      return error instanceof OpenAI.AuthenticationError || error instanceof OpenAI.APIConnectionError;
    });
  });
});
