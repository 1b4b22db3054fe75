import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { IngestionError, type JobErrorCode } from '../../extraction/ingestion-error.ts';
import type { GuardedHttp, GuardedResponse } from './guarded-http.ts';
import { RestClient, readPages } from './rest-client.ts';

const never = new AbortController().signal;

/** What a service answers: a status with a `Retry-After`, or a failure of the connection. */
type Reply = { status: number; retryAfter?: string } | IngestionError;

/** A client of a service that gives these replies. `left`: the replies that were not asked for. */
function clientOf(left: Reply[], retries?: number, headers = async () => ({ authorization: 'x' })) {
  const request = async (): Promise<GuardedResponse> => {
    const reply = left.shift();
    if (reply === undefined) assert.fail('one request too many');
    if (reply instanceof IngestionError) throw reply;
    const { status, retryAfter = '0' } = reply;
    const body = (async function* () {
      yield Buffer.from(JSON.stringify({ status, message: 'It says why.' }));
    })();
    return { url: '', status, headers: { 'retry-after': retryAfter }, body, discard: async () => {} };
  };
  const client = new RestClient({
    http: { request } as unknown as GuardedHttp,
    service: 'Acme',
    headers,
    errorMessage: (body) => (Object(body) as { message?: string }).message,
    ...(retries !== undefined && { retries }),
  });
  return { left, send: () => client.json('https://api.example/v1', never) };
}

const failsWith = (code: JobErrorCode) => (error: unknown) => error instanceof IngestionError && error.code === code;

describe('RestClient', () => {
  for (const status of [408, 409, 425, 429, 500, 502, 503, 504]) {
    it(`repeats a request that fails with ${status}, and returns the next answer`, async () => {
      const { send } = clientOf([{ status }, { status }, { status: 200 }]);
      assert.deepEqual(await send(), { status: 200, message: 'It says why.' });
    });
  }

  it('repeats a request whose connection fails', async () => {
    const { send } = clientOf([new IngestionError('timeout', 'It takes too long.'), { status: 200 }]);
    assert.ok(await send());
  });

  for (const [status, code] of [
    [400, 'connector_unavailable'],
    [401, 'authentication_failed'],
    [403, 'access_denied'],
    [404, 'not_found'],
    [410, 'not_found'],
    [413, 'too_large'],
    [422, 'connector_unavailable'],
  ] as const) {
    it(`fails at once with ${code} for ${status}: another attempt changes nothing`, async () => {
      const { send, left } = clientOf([{ status }, { status: 200 }]);
      await assert.rejects(send(), failsWith(code));
      assert.equal(left.length, 1);
    });
  }

  it('fails after the last retry with the error and the message of the service', async () => {
    const failures = Array.from({ length: 5 }, () => ({ status: 500 }));
    const { send, left } = clientOf([...failures, { status: 200 }]);
    await assert.rejects(send(), { code: 'server_error', message: 'Acme answers 500: It says why.' });
    assert.equal(left.length, 1);
    await assert.rejects(clientOf([{ status: 500 }], 0).send(), failsWith('server_error'));
  });

  it('leaves the retries of credentials to their own client, in the first attempt and in later ones', async () => {
    for (const first of [1, 2]) {
      let calls = 0;
      const { send, left } = clientOf([{ status: 500 }, { status: 200 }], undefined, async () => {
        calls += 1;
        if (calls >= first) throw new IngestionError('server_error', 'The token service is down.');
        return { authorization: 'x' };
      });
      await assert.rejects(send(), { message: 'The token service is down.' });
      assert.deepEqual([calls, left.length], [first, 3 - first]);
    }
  });

  it('does not wait for a service that asks for more than a minute', async () => {
    const { send, left } = clientOf([{ status: 429, retryAfter: '61' }, { status: 200 }]);
    await assert.rejects(send(), failsWith('rate_limited'));
    assert.equal(left.length, 1);
  });
});

describe('readPages', () => {
  /** Pages by cursor, and the cursors with which they were loaded. */
  const listing = (pages: { items: number[] | undefined; next: string | null | undefined }[]) => {
    const cursors: (string | null)[] = [];
    const items = readPages(async (cursor) => {
      cursors.push(cursor);
      return pages.shift() ?? assert.fail('one page too many');
    });
    return { items, cursors };
  };

  it('yields the items of all pages, past empty ones and pages without items', async () => {
    const { items, cursors } = listing([
      { items: [1, 2], next: 'a' },
      { items: [], next: 'b' },
      { items: undefined, next: '' },
      { items: [3], next: undefined },
    ]);
    assert.deepEqual(await Array.fromAsync(items), [1, 2, 3]);
    assert.deepEqual(cursors, [null, 'a', 'b', '']);
  });

  it('fails when a service repeats a page', async () => {
    const { items, cursors } = listing([
      { items: [1], next: 'a' },
      { items: [2], next: 'a' },
    ]);
    await assert.rejects(Array.fromAsync(items), { code: 'server_error' });
    assert.deepEqual(cursors, [null, 'a']);
  });

  it('loads no page before it is read', async () => {
    const { items, cursors } = listing([{ items: [1, 2], next: 'a' }]);
    for await (const _item of items) break;
    assert.deepEqual(cursors, [null]);
  });
});
