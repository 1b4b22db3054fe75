import assert from 'node:assert/strict';
import { once } from 'node:events';
import { getActiveResourcesInfo } from 'node:process';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { BOUNDARY, encodeForm, splitForm } from '../../test/forms.ts';
import { ApiError } from '../errors.ts';
import { type FormRules, readForm } from './multipart.ts';

const RULES: FormRules = { file: 'file', maxFileBytes: 1000, fields: ['purpose'] };
const forever = new AbortController().signal;

/** A request whose body arrives in chunks of `size` bytes. */
function createRequest(body: Uint8Array, size = body.length || 1) {
  const pieces = function* () {
    for (let at = 0; at < body.length; at += size) yield body.subarray(at, at + size);
  };
  const headers = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` };
  return Object.assign(Readable.from(pieces(), { objectMode: false }), { headers });
}

/** Reads a form to its end. */
const readAll = (body: Uint8Array, size?: number, signal = forever) =>
  readForm(createRequest(body, size), RULES, signal, async ({ filename, content, fields }) => {
    const bytes = await buffer(content);
    return { filename, bytes, purpose: fields.get('purpose') };
  });

const file = (content: string | Uint8Array) => ({ name: 'file', filename: 'a.txt', content });
const purpose = { name: 'purpose', content: 'batch' };

/** Deterministic random numbers in [0, 1). */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

describe('readForm', () => {
  it('reads the same form for any chunk boundaries', async () => {
    // A file may contain prefixes of the boundary, even all but its last character.
    const content = Buffer.concat([
      Buffer.from(`\r\n--${BOUNDARY.slice(0, -1)}\r\n\r\n--\r\n-\r`),
      Buffer.from(Uint8Array.from({ length: 256 }, (_, at) => at)),
      Buffer.from('\r\n'),
    ]);
    for (const parts of [
      [purpose, file(content)],
      [file(content), purpose],
    ]) {
      const body = encodeForm(parts);
      for (const size of [1, 2, 3, 5, 64, 1000]) {
        const read = await readAll(body, size);
        assert.ok(read.bytes.equals(content), `pieces of ${size}`);
        assert.deepEqual([read.filename, read.purpose], ['a.txt', 'batch']);
      }
    }
  });

  it('408 when no byte arrives for the idle timeout', async () => {
    const [head] = splitForm('a.txt', 'batch');
    const stalled = async function* () {
      yield head;
      await new Promise(() => {});
    };
    const headers = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` };
    const source = Object.assign(Readable.from(stalled(), { objectMode: false }), { headers });
    const reading = readForm(source, { ...RULES, idleTimeoutMs: 20 }, forever, ({ content }) => buffer(content));
    await assert.rejects(reading, { code: 'request_timeout', status: 408 });
  });

  it('provides earlier fields when the file starts, later fields when it ends', async () => {
    const body = encodeForm([file('text'), purpose]);
    await readForm(createRequest(body), RULES, forever, async ({ content, fields }) => {
      assert.equal(fields.size, 0);
      await buffer(content);
      assert.equal(fields.get('purpose'), 'batch');
    });
  });

  it('accepts a file of exactly the limit, and rejects one more byte immediately', async () => {
    for (const size of [1, 7, 10_000]) {
      assert.equal((await readAll(encodeForm([file('x'.repeat(1000))]), size)).bytes.length, 1000);
      await assert.rejects(readAll(encodeForm([file('x'.repeat(1001))]), size), {
        code: 'file_too_large',
        status: 413,
      });
    }
    const endless = async function* () {
      yield splitForm('a.txt', 'batch')[0];
      for (let at = 0; at < 1000; at += 1) yield Buffer.alloc(100, 'x');
    };
    const { headers } = createRequest(Buffer.alloc(0));
    const request = Object.assign(Readable.from(endless(), { objectMode: false }), { headers });
    await assert.rejects(
      readForm(request, RULES, forever, ({ content }) => buffer(content)),
      { code: 'file_too_large' },
    );
  });

  it('reports errors after the file through its content', async () => {
    for (const body of [encodeForm([file('a'), file('b')]), encodeForm([file('a')]).subarray(0, -6)]) {
      await readForm(createRequest(body), RULES, forever, async ({ content }) => {
        await assert.rejects(buffer(content), ApiError);
      });
    }
  });

  it('keeps the source readable when the file is not read completely', async () => {
    const body = encodeForm([file('x'.repeat(900)), purpose]);
    const request = createRequest(body, 100);
    await assert.rejects(
      readForm(request, RULES, forever, async () => {
        throw new Error('not wanted');
      }),
      /not wanted/,
    );
    if (!request.readableEnded) await once(request, 'end');
    assert.equal(request.readableEnded, true);
  });

  it('throws the reason of the signal, even while the source is stalled, and leaves no timer', async () => {
    const countTimers = () => getActiveResourcesInfo().filter((type) => type === 'Timeout').length;
    const timers = countTimers();
    const head = encodeForm([file('x')]).subarray(0, 120);
    for (const first of [head, Buffer.alloc(0)]) {
      const silent = async function* () {
        if (first.length > 0) yield first;
        await new Promise(() => {});
      };
      const controller = new AbortController();
      const { headers } = createRequest(head);
      const request = Object.assign(Readable.from(silent(), { objectMode: false }), { headers });
      const reading = readForm(request, RULES, controller.signal, ({ content }) => buffer(content));
      setImmediate(() => controller.abort(new Error('gone')));
      await assert.rejects(reading, /gone/);
      assert.ok(countTimers() <= timers);
    }
  });

  it('settles for arbitrary bytes', async () => {
    const random = randomNumbers(11);
    const whole = encodeForm([
      purpose,
      file('x'.repeat(300)),
      { name: 'more', content: 'y' },
      { name: 'z', content: '' },
    ]);
    const stuff = [
      '\r\n',
      `--${BOUNDARY}`,
      `--${BOUNDARY}--`,
      '--',
      '\r',
      '\0',
      ': ',
      'Content-Disposition: form-data',
      '"',
      ';',
    ];
    let read = 0;
    for (let round = 0; round < 1000; round += 1) {
      let body = Buffer.from(whole);
      const edits = Math.floor(random() * 4);
      for (let edit = 0; edit < edits; edit += 1) {
        const at = Math.floor(random() * body.length);
        const inserted = Buffer.from(stuff[Math.floor(random() * stuff.length)] ?? '');
        const removed = random() < 0.5 ? 0 : Math.floor(random() * 40);
        body = Buffer.concat([body.subarray(0, at), inserted, body.subarray(at + removed)]);
      }
      if (random() < 0.2) body = body.subarray(0, Math.floor(random() * body.length));
      const size = 1 + Math.floor(random() * body.length);
      try {
        await readAll(body, size);
        read += 1;
      } catch (error) {
        assert.ok(error instanceof ApiError && error.status < 500, `${error}: ${JSON.stringify(body.toString())}`);
      }
    }
    assert.ok(read > 150 && read < 970, `${read} were read`);
  });
});
