import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { redirectHeaders, sha256Hex, useHub } from '../../../test/fixtures/hub-server.ts';
import { Dispatchers, type FileResponse, fetchFile } from './fetch-file.ts';

const BYTES = Buffer.from('GGUF and more');

async function fetched(
  url: string,
  token: string | null = null,
  proxy: ConstructorParameters<typeof Dispatchers>[0] = null,
): Promise<FileResponse & { text: string }> {
  const dispatchers = new Dispatchers(proxy);
  try {
    const options = {
      token: token === null ? null : { value: token, origin: new URL(url).origin },
      dispatchers,
      headers: {},
    };
    const answer = await fetchFile(new URL(url), options, AbortSignal.timeout(60_000));
    const pieces: Buffer[] = [];
    for await (const piece of answer.body) pieces.push(piece as Buffer);
    return { ...answer, text: Buffer.concat(pieces).toString() };
  } finally {
    await dispatchers.close();
  }
}

describe('redirects', () => {
  const hub = useHub();
  const storage = useHub();

  it('are followed to another server, which does not get the token, nor does anyone after it', async () => {
    storage.files.set('/blob', BYTES);
    storage.acts[0] = (request, response) => {
      if (request.url !== '/back') return false;
      response.writeHead(302, { location: `${hub.url}/end` }).end();
      return true;
    };
    hub.files.set('/end', BYTES);
    hub.acts[0] = (request, response) => {
      const location = { '/file': '/renamed', '/renamed': `${storage.url}/blob`, '/far': `${storage.url}/back` };
      const next = location[request.url as '/file'];
      if (next === undefined) return false;
      response.writeHead(307, { location: next, ...redirectHeaders(BYTES) }).end('moved');
      return true;
    };
    const answer = await fetched(`${hub.url}/file`, 'hf_secret');
    assert.equal(answer.text, BYTES.toString());
    assert.deepEqual(answer.linked, { sha256: sha256Hex(BYTES), bytes: BYTES.length });
    assert.deepEqual(
      hub.seen.map(({ path, authorization }) => [path, authorization]),
      [
        ['/file', 'Bearer hf_secret'],
        ['/renamed', 'Bearer hf_secret'],
      ],
    );
    assert.deepEqual(
      storage.seen.map(({ authorization }) => authorization),
      [undefined],
    );
    await fetched(`${hub.url}/far`, 'hf_secret');
    assert.deepEqual([hub.seen.at(-1)?.path, hub.seen.at(-1)?.authorization], ['/end', undefined]);
  });

  it('do not let another server say what the hash is', async () => {
    hub.acts[0] = (_request, response) => {
      response.writeHead(302, { location: `${storage.url}/blob` }).end();
      return true;
    };
    storage.acts.length = 0;
    storage.files.set('/blob', BYTES);
    assert.deepEqual((await fetched(`${hub.url}/file`)).linked, { sha256: null, bytes: null });
  });

  it('are followed so often and no further', async () => {
    hub.seen.length = 0;
    hub.acts[0] = (request, response) => {
      response.writeHead(302, { location: `${request.url}x` }).end();
      return true;
    };
    await assert.rejects(fetched(`${hub.url}/a`), /redirects more than 8 times/);
    assert.equal(hub.seen.length, 9);
  });

  it('lead to web addresses only', async () => {
    for (const location of ['file:///etc/passwd', 'http://']) {
      hub.acts[0] = (_request, response) => {
        response.writeHead(302, { location }).end();
        return true;
      };
      await assert.rejects(fetched(`${hub.url}/a`), /no web address/);
    }
  });
});

describe('a file', () => {
  const hub = useHub();
  const proxy = useHub();

  it('is asked for with the name and password of its URL', async () => {
    hub.files.set('/file', BYTES);
    await fetched(`${hub.url.replace('//', '//me:se%20cret@')}/file`);
    assert.equal(hub.seen.at(-1)?.authorization, `Basic ${Buffer.from('me:se cret').toString('base64')}`);
    assert.equal(hub.seen.at(-1)?.path, '/file');
  });

  it('is asked for through the proxy of the environment, but for hosts that it excepts', async () => {
    hub.files.set('/file', BYTES);
    proxy.acts[0] = (_request, response) => {
      response.writeHead(200).end('by way of the proxy');
      return true;
    };
    const settings = { httpProxy: proxy.url, httpsProxy: null, noProxy: null };
    assert.equal((await fetched('http://hub.invalid/file', null, settings)).text, 'by way of the proxy');
    const direct = await fetched(`${hub.url}/file`, null, { ...settings, noProxy: '127.0.0.1' });
    assert.equal(direct.text, BYTES.toString());
  });

  it('of a server that is not there is an error that says so', async () => {
    await assert.rejects(fetched('http://127.0.0.1:1/file'), /http:\/\/127\.0\.0\.1:1 does not respond: /);
  });
});
