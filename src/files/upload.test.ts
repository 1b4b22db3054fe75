import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { request } from 'node:http';
import { describe, it } from 'node:test';
import { until } from '../../test/deadline.ts';
import { BOUNDARY, encodeForm, type Part, sendForm, splitForm } from '../../test/forms.ts';
import { type Answer, assertError, assertSchema, useApi } from '../../test/harness.ts';
import { File, MAX_UPLOAD_BYTES } from './schema.ts';
import { files, orphanedBlobs } from './tables.ts';

const PURPOSE: Part = { name: 'purpose', content: 'knowledge-base' };
const TEXT: Part = { name: 'file', filename: 'notes.txt', content: 'Some notes.\n' };

describe('POST /v1/files', () => {
  const api = useApi();
  const url = () => `${api.url}/v1/files`;
  const send = (parts: readonly Part[], headers: Record<string, string> = {}) =>
    sendForm(url(), encodeForm(parts), { key: api.key, headers });
  const upload = (filename: string, content: string | Uint8Array, purpose = 'knowledge-base') =>
    send([
      { name: 'purpose', content: purpose },
      { name: 'file', filename, content },
    ]);

  /** Counts what uploads leave: rows, listed blobs, and files in the folder. */
  async function kept() {
    const names = readdirSync(api.blobFolder, { recursive: true, withFileTypes: true });
    return {
      rows: (await api.db.sql.select().from(files)).length,
      loose: (await api.db.sql.select().from(orphanedBlobs)).length,
      blobs: names.filter((entry) => entry.isFile()).length,
    };
  }

  /** Asserts that a request is rejected and leaves nothing. */
  async function assertRefused(sending: () => Promise<Answer>, status: number, code: string, param: string | null) {
    const before = await kept();
    assertError(await sending(), status, code, param);
    assert.deepEqual(await kept(), before);
  }

  it('stores the file and returns it, for either order of the form fields', async () => {
    const before = Math.floor(Date.now() / 1000);
    for (const parts of [
      [PURPOSE, TEXT],
      [TEXT, PURPOSE],
    ]) {
      const answer = await send(parts);
      assert.equal(answer.status, 200, answer.text);
      assertSchema(File, answer.json);
      const { id, created_at, ...rest } = answer.json;
      assert.match(id, /^file-[0-9a-z]{26}$/);
      assert.ok(created_at >= before && created_at <= Math.ceil(Date.now() / 1000));
      assert.deepEqual(rest, {
        object: 'file',
        bytes: 12,
        filename: 'notes.txt',
        sha256: createHash('sha256').update('Some notes.\n').digest('hex'),
        purpose: 'knowledge-base',
        status: 'uploaded',
        status_details: null,
      });
      const content = await api.send('GET', `/v1/files/${id}/content`);
      assert.equal(content.text, 'Some notes.\n');
    }
    const { loose } = await kept();
    assert.equal(loose, 0);
  });

  it('stores when the file expires, for either order of the form fields', async () => {
    const expiry = (seconds: string, anchor = 'created_at'): Part[] => [
      { name: 'expires_after[anchor]', content: anchor },
      { name: 'expires_after[seconds]', content: seconds },
    ];
    for (const parts of [
      [PURPOSE, ...expiry('3600'), TEXT],
      [TEXT, ...expiry('3600').toReversed(), PURPOSE],
    ]) {
      const { status, json, text } = await send(parts);
      assert.equal(status, 200, text);
      assertSchema(File, json);
      assert.equal(json.expires_at - json.created_at, 3_600);
      assert.equal((await api.send('GET', `/v1/files/${json.id}`)).json.expires_at, json.expires_at);
    }
    assert.equal((await send([...expiry('2592000'), PURPOSE, TEXT])).status, 200);
    const [anchor, seconds] = expiry('3600') as [Part, Part];
    assert.equal((await send([PURPOSE, anchor, TEXT, seconds])).status, 200);
    for (const seconds of ['3599', '2592001', '3600.5', '-3600', '1e4', '', '9'.repeat(20)]) {
      const bad = () => send([PURPOSE, ...expiry(seconds), TEXT]);
      await assertRefused(bad, 400, 'invalid_value', 'expires_after.seconds');
      const late = () => send([PURPOSE, TEXT, ...expiry(seconds)]);
      await assertRefused(late, 400, 'invalid_value', 'expires_after.seconds');
    }
    const other = () => send([PURPOSE, ...expiry('3600', 'last_active_at'), TEXT]);
    await assertRefused(other, 400, 'invalid_value', 'expires_after.anchor');
    for (const [part, missing] of [
      [anchor, 'seconds'],
      [seconds, 'anchor'],
    ] as const) {
      const incomplete = () => send([PURPOSE, part, TEXT]);
      await assertRefused(incomplete, 400, 'missing_required_field', `expires_after.${missing}`);
    }
    const headers = { 'idempotency-key': 'expires' };
    const first = await send([PURPOSE, ...expiry('3600'), TEXT], headers);
    assert.equal((await send([PURPOSE, ...expiry('3600'), TEXT], headers)).json.id, first.json.id);
    assertError(await send([PURPOSE, ...expiry('7200'), TEXT], headers), 409, 'idempotency_conflict');
    assertError(await send([PURPOSE, TEXT], headers), 409, 'idempotency_conflict');
  });

  it('401 and 403 before the body is read', async () => {
    const head = splitForm('a.jsonl', 'batch')[0];
    const never = async function* () {
      yield head;
      await new Promise(() => {});
    };
    const { key } = await api.makeKey({ scopes: ['inference', 'knowledge'] });
    assertError(await sendForm(url(), never(), { key: null }), 401, 'invalid_api_key');
    assertError(await sendForm(url(), never(), { key: 'quire-sk-unknown-unknown' }), 401, 'invalid_api_key');
    assertError(await sendForm(url(), never(), { key }), 403, 'insufficient_scope');
    assert.deepEqual((await kept()).loose, 0);
  });

  it('415 for a body that is not a form, naming the accepted type', async () => {
    for (const contentType of [
      'application/json',
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/mixed',
    ]) {
      const answer = await sendForm(url(), Buffer.from('{"purpose":"batch"}'), { key: api.key, contentType });
      assertError(answer, 415, 'unsupported_media_type');
      assert.match(answer.json.error.message, /multipart\/form-data/);
    }
    assertError(await api.send('POST', '/v1/files', { body: { purpose: 'batch' } }), 415, 'unsupported_media_type');
    // Other routes still report their accepted types.
    const chat = await sendForm(`${api.url}/v1/chat/completions`, encodeForm([TEXT]), { key: api.key });
    assertError(chat, 415, 'unsupported_media_type');
    assert.match(chat.json.error.message, /application\/json/);
  });

  it('400 missing_required_field for missing form fields', async () => {
    await assertRefused(() => send([]), 400, 'missing_required_field', 'file');
    await assertRefused(() => send([PURPOSE]), 400, 'missing_required_field', 'file');
    await assertRefused(() => send([TEXT]), 400, 'missing_required_field', 'purpose');
    await assertRefused(() => send([{ ...TEXT, name: 'upload' }, PURPOSE]), 400, 'missing_required_field', 'file');
    await assertRefused(() => api.send('POST', '/v1/files'), 400, 'missing_required_field', 'file');
  });

  it('400 invalid_value for a wrong purpose, before or after the file', async () => {
    for (const content of ['vision', '', 'Batch', 'batch,fine-tune']) {
      const purpose = { name: 'purpose', content };
      await assertRefused(() => send([purpose, TEXT]), 400, 'invalid_value', 'purpose');
      await assertRefused(() => send([TEXT, purpose]), 400, 'invalid_value', 'purpose');
    }
    await assertRefused(() => send([PURPOSE, TEXT, PURPOSE]), 400, 'invalid_value', 'purpose');
  });

  it('400 invalid_value for two files, for a file without a name, and for one that is sent as text', async () => {
    await assertRefused(() => send([PURPOSE, TEXT, TEXT]), 400, 'invalid_value', 'file');
    await assertRefused(() => send([PURPOSE, { ...TEXT, filename: '' }]), 400, 'invalid_value', 'file');
    await assertRefused(() => send([PURPOSE, { name: 'file', content: 'text' }]), 400, 'invalid_value', 'file');
    await assertRefused(() => send([PURPOSE, { ...TEXT, filename: 'a/b/' }]), 400, 'invalid_value', 'file');
  });

  it('400 for an unsupported format, or one not allowed for the purpose', async () => {
    for (const name of ['a.exe', 'a', 'a.', 'txt', '.txt.gz', 'a.psd', 'a.htm', 'a.doc']) {
      await assertRefused(() => upload(name, 'text'), 400, 'invalid_value', 'file');
    }
    for (const purpose of ['batch', 'fine-tune']) {
      await assertRefused(() => upload('a.txt', '{}\n', purpose), 400, 'invalid_value', 'file');
      const late = () => send([TEXT, { name: 'purpose', content: purpose }]);
      await assertRefused(late, 400, 'invalid_value', 'file');
    }
  });

  it('400 for an empty file, and for content that contradicts the extension', async () => {
    await assertRefused(() => upload('a.txt', ''), 400, 'invalid_value', 'file');
    await assertRefused(() => upload('a.pdf', 'I am no PDF.'), 400, 'invalid_value', 'file');
    await assertRefused(() => upload('a.docx', 'PK I am no archive'), 400, 'invalid_value', 'file');
    await assertRefused(() => upload('a.txt', Buffer.from([1, 2, 0, 3])), 400, 'invalid_value', 'file');
    await assertRefused(() => upload('a.jsonl', Buffer.from('{"a":"\xe9"}', 'latin1')), 400, 'invalid_value', 'file');
  });

  it('validates every line of a fine-tuning file for either field order, and names the invalid line', async () => {
    const good = '{"messages":[]}\n{"messages":[]}\n';
    assert.equal((await upload('a.jsonl', good, 'fine-tune')).status, 200);
    const bad = `${good}[1]\n`;
    for (const parts of [
      [0, 1],
      [1, 0],
    ].map((order) =>
      order.map(
        (at) =>
          [
            { name: 'purpose', content: 'fine-tune' },
            { name: 'file', filename: 'a.jsonl', content: bad },
          ][at] as Part,
      ),
    )) {
      const answer = await send(parts);
      assertError(answer, 400, 'invalid_value', 'file');
      assert.match(answer.json.error.message, /line 3 /);
    }
    // Batches validate their lines themselves.
    for (const purpose of ['batch', 'knowledge-base'])
      assert.equal((await upload('a.jsonl', bad, purpose)).status, 200);
  });

  it('keeps relative folders in file names', async () => {
    for (const [sent, shown] of [
      ['../../etc/passwd.txt', 'passwd.txt'],
      ['guides/2026/pump.txt', 'guides/2026/pump.txt'],
      ['C:\\\\Users\\\\me\\\\notes.txt', 'notes.txt'],
      ['R\u00e9sum\u00e9 \u65e5\u672c.TXT', 'R\u00e9sum\u00e9 \u65e5\u672c.TXT'],
      ['a\u202egnp.txt', 'agnp.txt'],
      [`${'x'.repeat(300)}.txt`, `${'x'.repeat(251)}.txt`],
      ['.txt', '.txt'],
      // Browsers and other clients escape a quote this way.
      ['\u65e5\u672c %22q%22 100%.txt', '\u65e5\u672c "q" 100%.txt'],
    ]) {
      const answer = await upload(sent ?? '', 'text');
      assert.equal(answer.json?.filename, shown, answer.text);
    }
  });

  it('400 for a file name longer than the path limit', async () => {
    for (const characters of [5000, 20_000]) {
      const answer = await upload(`${'x'.repeat(characters)}.txt`, 'text');
      assertError(answer, 400, 'invalid_value', 'file');
      assert.match(answer.json.error.message, /at most 4096 characters/);
    }
  });

  it('parses an RFC 5987 file name', async () => {
    const body = encodeForm([PURPOSE, TEXT])
      .toString()
      .replace('filename="notes.txt"', "filename*=UTF-8''caf%C3%A9.txt");
    const answer = await sendForm(url(), Buffer.from(body), { key: api.key });
    assert.equal(answer.json.filename, 'caf\u00e9.txt');
  });

  it('skips unknown fields, up to a limit', async () => {
    const unknown = Array.from({ length: 30 }, (_, at) => ({ name: `x${at % 3}`, content: 'y'.repeat(10_000) }));
    assert.equal((await send([...unknown, PURPOSE, TEXT])).status, 200);
    const many = Array.from({ length: 33 }, (_, at) => ({ name: `x${at}`, content: '' }));
    await assertRefused(() => send([PURPOSE, TEXT, ...many]), 400, 'invalid_value', 'body');
    const long = { name: 'x', content: 'y'.repeat(16_385) };
    await assertRefused(() => send([long, PURPOSE, TEXT]), 400, 'invalid_value', 'x');
  });

  it('skips files of other field names, and accepts a purpose sent as a file', async () => {
    const other = { name: 'foo', filename: 'other.txt', content: 'other' };
    for (const parts of [
      [other, PURPOSE, TEXT],
      [TEXT, other, { ...PURPOSE, filename: 'purpose.txt' }],
    ]) {
      const { status, json } = await send(parts);
      assert.deepEqual([status, json.filename, json.bytes], [200, 'notes.txt', 12]);
    }
    const large = { ...other, content: 'y'.repeat(16_385) };
    await assertRefused(() => send([large, PURPOSE, TEXT]), 400, 'invalid_value', 'foo');
  });

  it('names the field that is too large', async () => {
    const answer = await send([{ name: 'x', content: 'y'.repeat(2_000_000) }, PURPOSE, TEXT]);
    assertError(answer, 413, 'request_too_large');
    assert.equal(answer.json.error.message, 'The form without its file is larger than 1048576 bytes.');
  });

  it('400 for an incomplete form', async () => {
    const whole = encodeForm([PURPOSE, TEXT]);
    const at =
      (contentType: string, body: Uint8Array = whole) =>
      () =>
        sendForm(url(), body, { key: api.key, contentType });
    await assertRefused(at('multipart/form-data'), 400, 'invalid_value', 'content-type');
    await assertRefused(at('multipart/form-data; boundary='), 400, 'invalid_value', 'content-type');
    await assertRefused(at(`multipart/form-data; boundary=${'x'.repeat(71)}`), 400, 'invalid_value', 'content-type');
    await assertRefused(at('multipart/form-data; boundary=other'), 400, 'invalid_value', 'body');
    for (const length of [0, 30, whole.indexOf('notes'), whole.indexOf('Some notes') + 4, whole.length - 6]) {
      const body = whole.subarray(0, length);
      await assertRefused(at(`multipart/form-data; boundary=${BOUNDARY}`, body), 400, 'invalid_value', 'body');
    }
    // A boundary may be quoted.
    assert.equal((await at(`multipart/form-data; boundary="${BOUNDARY}"`)()).status, 200);
  });

  it('413 as soon as the declared or received size exceeds the limit', async () => {
    const { key } = api;
    const told = { headers: { 'content-length': String(MAX_UPLOAD_BYTES + 2_000_000) }, key };
    const never = async function* () {
      yield splitForm('a.txt', 'knowledge-base')[0];
      await new Promise(() => {});
    };
    await assertRefused(() => sendForm(url(), never(), told), 413, 'file_too_large', 'file');
  });

  it('413 for too many headers and fields around the file', async () => {
    const endless = async function* () {
      yield Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\nX: `);
      for (;;) yield Buffer.alloc(65_536, 'x');
    };
    await assertRefused(() => sendForm(url(), endless(), { key: api.key }), 413, 'request_too_large', null);
  });

  it('deletes the bytes of an upload whose client disconnects', async () => {
    const before = await kept();
    for (const bytes of [1, 3_000_000]) {
      const asking = request(url(), {
        method: 'POST',
        headers: { authorization: `Bearer ${api.key}`, 'content-type': `multipart/form-data; boundary=${BOUNDARY}` },
      });
      asking.on('error', () => {});
      asking.write(splitForm('a.txt', 'knowledge-base')[0]);
      asking.write(Buffer.alloc(bytes, 'x'));
      await until(async () => (await kept()).blobs > before.blobs);
      asking.destroy();
      await until(async () => JSON.stringify(await kept()) === JSON.stringify(before));
    }
  });

  it('stores concurrent uploads separately', async () => {
    const contents = Array.from({ length: 12 }, (_, at) => `${at} `.repeat(50_000));
    const answers = await Promise.all(contents.map((content, at) => upload(`${at}.txt`, content)));
    for (const [at, { json }] of answers.entries()) {
      const { text } = await api.send('GET', `/v1/files/${json.id}/content`);
      assert.equal(text, contents[at]);
    }
    assert.equal(new Set(answers.map(({ json }) => json.id)).size, 12);
  });

  it('the connection can be reused after a rejection in the middle of a body', async () => {
    const half = async function* () {
      const [head, end] = splitForm('a.pdf', 'knowledge-base');
      yield head;
      for (let at = 0; at < 40; at += 1) yield Buffer.alloc(65_536, 'x');
      yield end;
    };
    for (let round = 0; round < 3; round += 1) {
      assertError(await sendForm(url(), half(), { key: api.key }), 400, 'invalid_value', 'file');
    }
    const body = new Uint8Array(
      encodeForm([PURPOSE, { name: 'file', filename: 'a.pdf', content: 'x'.repeat(5_000_000) }]),
    );
    const headers = { authorization: `Bearer ${api.key}`, 'content-type': `multipart/form-data; boundary=${BOUNDARY}` };
    for (let round = 0; round < 5; round += 1) {
      const answer = await fetch(url(), { method: 'POST', headers, body });
      assert.equal(answer.status, 400);
      assert.equal(((await answer.json()) as { error: { param: string } }).error.param, 'file');
    }
  });

  describe('with an Idempotency-Key', () => {
    const key = (idempotencyKey: string) => ({ 'idempotency-key': idempotencyKey });

    it('replays the response for the same content with another boundary, and stores it once', async () => {
      const first = await send([PURPOSE, TEXT], key('f1'));
      const before = await kept();
      const body = encodeForm([TEXT, PURPOSE], 'another');
      const contentType = 'multipart/form-data; boundary=another';
      const second = await sendForm(url(), body, { key: api.key, headers: key('f1'), contentType });
      assert.equal(second.headers.get('idempotent-replayed'), 'true');
      assert.deepEqual(second.json, first.json);
      assert.deepEqual(await kept(), before);
    });

    it('409 for other content, another name or another purpose', async () => {
      const jsonl = { name: 'file', filename: 'a.jsonl', content: '{}' };
      await send([PURPOSE, jsonl], key('f2'));
      for (const parts of [
        [PURPOSE, { ...jsonl, content: '{} ' }],
        [PURPOSE, { ...jsonl, filename: 'b.jsonl' }],
        [{ name: 'purpose', content: 'batch' }, jsonl],
      ]) {
        await assertRefused(() => send(parts, key('f2')), 409, 'idempotency_conflict', null);
      }
    });

    it('can be used again after a rejected request and after a disconnect', async () => {
      assertError(await send([PURPOSE, { ...TEXT, filename: 'a.exe' }], key('f3')), 400, 'invalid_value', 'file');
      assert.equal((await send([PURPOSE, TEXT], key('f3'))).status, 200);
      const before = await kept();
      const asking = request(url(), {
        method: 'POST',
        headers: {
          authorization: `Bearer ${api.key}`,
          'content-type': `multipart/form-data; boundary=${BOUNDARY}`,
          ...key('f4'),
        },
      });
      asking.on('error', () => {});
      asking.write(splitForm('a.txt', 'knowledge-base')[0]);
      asking.write('x');
      await until(async () => (await kept()).blobs > before.blobs);
      assertError(await send([PURPOSE, TEXT], key('f4')), 409, 'idempotency_conflict');
      asking.destroy();
      await until(async () => (await send([PURPOSE, TEXT], key('f4'))).status === 200);
    });
  });
});
