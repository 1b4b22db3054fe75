import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, afterEach, before, describe, it, mock } from 'node:test';
import { bundledEmbedder, embeddedBy } from '../../test/embedder.ts';
import { useApi } from '../../test/harness.ts';
import { runQueuedJobs } from '../../test/ingestion.ts';
import { INGEST_SOURCE } from '../knowledge-bases/jobs/ingest-job.ts';
import { main } from '../main.ts';
import { openApiClient } from './api-client.ts';
import { importStores } from './migrate/import-stores.ts';
import { OpenAiAccount } from './migrate/openai-account.ts';
import { StatusLine } from './status-line.ts';

const engine = bundledEmbedder();
after(() => engine.close());
const api = useApi({ ...embeddedBy(engine), jobs: [INGEST_SOURCE] });

interface AccountFile {
  filename: string;
  purpose: string;
  text: string;
  status?: string;
  attributes?: object;
}

/** An account with the API of OpenAI: pages, purposes that cannot be downloaded, limits of requests. */
class FakeAccount {
  readonly stores = new Map<string, { object: object; files: Map<string, AccountFile> }>();
  /** Paths of the requests, in order. */
  readonly requests: string[] = [];
  /** Answers 429 to that many requests. */
  limited = 0;
  /** Closes the connections of this request. */
  brokenPath: string | null = null;
  /** Called for each request. */
  onRequest: () => unknown = () => {};
  readonly server: Server = createServer((request, response) => {
    const { status, body, headers } = this.#answer(request.url ?? '', request.headers.authorization);
    if (status === 0) return request.socket.destroy();
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    return response.end(typeof body === 'string' ? body : JSON.stringify(body));
  });

  add(id: string, object: object, files: Record<string, AccountFile>): void {
    const file_counts = { total: Object.keys(files).length };
    const store = { id, name: id, status: 'completed', metadata: {}, file_counts, ...object };
    this.stores.set(id, { object: store, files: new Map(Object.entries(files)) });
  }

  #answer(
    target: string,
    key: string | undefined,
  ): { status: number; body?: unknown; headers?: Record<string, string> } {
    const { pathname, searchParams } = new URL(target, 'http://account');
    const path = pathname.replace('/v1', '');
    this.requests.push(path);
    this.onRequest();
    const error = (status: number, message: string, code: string | null = null, headers = {}) => ({
      status,
      headers,
      body: { error: { message, code, type: 'invalid_request_error', param: null } },
    });
    if (key !== 'Bearer sk-account') return error(401, 'Incorrect API key provided.', 'invalid_api_key');
    if (path === this.brokenPath) return { status: 0 };
    if (this.limited > 0) {
      this.limited -= 1;
      return error(429, 'Rate limit reached.', 'rate_limit_exceeded', { 'retry-after': '0' });
    }
    if (path === '/vector_stores')
      return this.#page(
        [...this.stores.values()].map(({ object }) => object),
        searchParams,
      );
    const [, kind, id = '', part, fileId = '', content] = path.split('/');
    const store = this.stores.get(id);
    if (kind === 'vector_stores') {
      if (store === undefined) return error(404, `No vector store found with id '${id}'.`);
      if (part === undefined) return { status: 200, body: store.object };
      const files = [...store.files].map(([each, file]) => ({
        id: each,
        status: 'completed',
        attributes: {},
        ...file,
      }));
      if (content === undefined) return this.#page(files, searchParams);
      const text = store.files.get(fileId)?.text ?? '';
      return {
        status: 200,
        body: {
          object: 'vector_store.file_content.page',
          data: [{ type: 'text', text }],
          has_more: false,
          next_page: null,
        },
      };
    }
    const file = [...this.stores.values()].map(({ files }) => files.get(id)).find((each) => each !== undefined);
    if (file === undefined || file.filename === '') return error(404, `No such File object: ${id}`);
    if (part === undefined) return { status: 200, body: { id, filename: file.filename, purpose: file.purpose } };
    if (file.purpose === 'assistants') return error(400, 'Not allowed to download files of purpose: assistants');
    return { status: 200, body: file.text };
  }

  #page(items: object[], query: URLSearchParams) {
    const all = items as { id: string }[];
    const from = all.findIndex(({ id }) => id === query.get('after')) + 1;
    const data = all.slice(from, from + 2);
    return { status: 200, body: { object: 'list', data, has_more: from + 2 < all.length, last_id: data.at(-1)?.id } };
  }
}

/** Runs the command in this process. */
async function migrate(...args: string[]) {
  const [out, err]: [string[], string[]] = [[], []];
  mock.method(console, 'log', (text: string) => out.push(text));
  mock.method(console, 'error', (text: string) => err.push(text));
  mock.method(process.stderr, 'write', (text: string) => err.push(text) > 0);
  const code = await main(['migrate', 'openai', ...args]);
  mock.restoreAll();
  return { code, stdout: out.join('\n'), stderr: err.join('\n') };
}

describe('quire migrate openai', () => {
  let account: FakeAccount;
  before(() => {
    process.env['QUIRE_URL'] = api.url;
    process.env['QUIRE_API_KEY'] = api.key;
  });
  const open = async () => {
    account = new FakeAccount();
    await new Promise<void>((resolve) => account.server.listen(0, '127.0.0.1', resolve));
    process.env['OPENAI_BASE_URL'] = `http://127.0.0.1:${(account.server.address() as AddressInfo).port}/v1/`;
    process.env['OPENAI_API_KEY'] = 'sk-account';
  };
  afterEach(() => {
    account.server.closeAllConnections();
    account.server.close();
  });
  after(() => {
    for (const name of ['OPENAI_BASE_URL', 'OPENAI_API_KEY']) delete process.env[name];
  });
  const stores = async () => (await api.send('GET', '/v1/vector_stores?limit=100')).json.data;
  const text = (text: string, more: object = {}): AccountFile => ({
    filename: 'a.txt',
    purpose: 'assistants',
    text,
    ...more,
  });

  it('imports stores with their files, attributes and ids, and repeats nothing', async () => {
    await open();
    account.add(
      'vs_one',
      { name: "Ann's", metadata: { team: 'ä' }, expires_after: { days: 9 } },
      {
        'file-A1': text('Cats sleep at night.', { filename: 'cats.pdf', attributes: { topic: 'cats', n: 1 } }),
        'file-B2': { filename: 'dogs.txt', purpose: 'vision', text: 'Dogs bark.' },
        'file-C3': text('Deleted upload.', { filename: '' }),
      },
    );
    account.add('vs_old', { status: 'expired' }, {});
    account.limited = 3;
    const { code, stdout, stderr } = await migrate();
    assert.equal(code, 0, stderr);
    assert.match(stdout, /'Ann's' is vs_\w+: 1 file imported, 2 files imported as text\./);
    assert.match(stdout, /Skipped 'vs_old' \(vs_old\): it has expired/);
    await runQueuedJobs(api);
    const [store, ...others] = await stores();
    assert.deepEqual(others, []);
    assert.deepEqual([store.name, store.metadata.team, store.expires_after.days], ["Ann's", 'ä', 9]);
    const files = (await api.send('GET', `/v1/vector_stores/${store.id}/files`)).json.data;
    assert.deepEqual(files.map(({ id, status }: Record<string, string>) => [id, status]).toSorted(), [
      ['file-A1', 'completed'],
      ['file-B2', 'completed'],
      ['file-C3', 'completed'],
    ]);
    const body = { query: 'Cats', filters: { type: 'eq', key: 'topic', value: 'cats' } };
    const [hit] = (await api.send('POST', `/v1/vector_stores/${store.id}/search`, { body })).json.data;
    assert.deepEqual([hit.file_id, hit.filename, hit.attributes], ['file-A1', 'cats.pdf', { topic: 'cats', n: 1 }]);
    account.requests.length = 0;
    assert.match((await migrate()).stdout, /3 imported before/);
    assert.ok(!account.requests.some((path) => path.endsWith('/content')), 'read nothing again');
    assert.equal((await stores()).length, 1);
    const removed = await api.send('DELETE', `/v1/vector_stores/${store.id}/files/file-A1`);
    assert.deepEqual(removed.json, { id: 'file-A1', object: 'vector_store.file.deleted', deleted: true });
  });

  it('names files that failed, and imports the others', async () => {
    await open();
    account.add(
      'vs_two',
      {},
      { 'file-X': text('', { status: 'failed' }), 'file-Y': text(' '), 'file-Z': text('Good.') },
    );
    const { code, stdout, stderr } = await migrate('vs_two', '--json');
    assert.equal(code, 1, stderr);
    const [store] = JSON.parse(stdout).stores;
    assert.deepEqual(
      [store.texts, store.failed.map(({ file }: { file: string }) => file).toSorted()],
      [1, ['file-X', 'file-Y']],
    );
    assert.match(stderr, /2 files could not be imported/);
  });

  it('retries after a lost connection, and reads nothing twice', async () => {
    await open();
    const ids = Array.from({ length: 9 }, (_, i) => `file-I${i}`);
    account.add('vs_three', {}, Object.fromEntries(ids.map((id) => [id, text(`Text ${id}.`)])));
    account.brokenPath = '/files/file-I6';
    const stopped = migrate('vs_three');
    while (!account.requests.includes('/files/file-I6')) await new Promise((resolve) => setTimeout(resolve, 5));
    account.brokenPath = null;
    assert.equal((await stopped).code, 0, 'a lost connection is retried');
    account.requests.length = 0;
    assert.match((await migrate('vs_three')).stdout, /9 imported before/);
  });

  it('goes on where an interrupted run has ended', async () => {
    await open();
    const files = Array.from({ length: 9 }, (_, i) => [`file-R${i}`, text(`Text ${i}.`)] as const);
    account.add('vs_four', {}, Object.fromEntries(files));
    const client = await openApiClient();
    const run = (signal: AbortSignal) => {
      const source = { baseUrl: process.env['OPENAI_BASE_URL'] ?? '', apiKey: 'sk-account' };
      const context = { account: new OpenAiAccount(source, signal), api: client, signal };
      return importStores(context, ['vs_four'], new StatusLine({ write: () => {} }));
    };
    const abort = new AbortController();
    const contents = () => account.requests.filter((path) => path.endsWith('/content'));
    account.onRequest = () => contents().length === 5 && abort.abort(new Error('interrupted'));
    await assert.rejects(run(abort.signal), /interrupted/);
    account.onRequest = () => {};
    const [result] = await run(new AbortController().signal);
    assert.ok(result !== undefined && result.present > 0, 'some files were imported before');
    assert.equal(result.present + result.texts, 9);
    const owners = (await stores()).filter(({ name }: { name: string }) => name === 'vs_four');
    assert.deepEqual(owners.length, 1);
  });

  it('fails with a next step without a valid key', async () => {
    await open();
    process.env['OPENAI_API_KEY'] = 'sk-wrong';
    assert.match((await migrate()).stderr, /Set OPENAI_API_KEY to a key of the account/);
    process.env['OPENAI_API_KEY'] = '';
    assert.match((await migrate()).stderr, /Set OPENAI_API_KEY to a key of the account to import from/);
    assert.equal((await migrate()).code, 1);
  });

  it('fails for an unknown store', async () => {
    await open();
    const { code, stderr } = await migrate('vs_unknown');
    assert.deepEqual([code, /No vector store found with id 'vs_unknown'/.test(stderr)], [1, true]);
  });
});
