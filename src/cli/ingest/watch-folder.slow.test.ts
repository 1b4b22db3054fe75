import assert from 'node:assert/strict';
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, it, mock } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { bundledEmbedder, embeddedBy } from '../../../test/embedder.ts';
import { useApi } from '../../../test/harness.ts';
import { CHECK_FILE } from '../../files/check-job.ts';
import { startIngestion } from '../../knowledge-bases/ingestion/ingestion-worker.ts';
import { INGEST_SOURCE } from '../../knowledge-bases/jobs/ingest-job.ts';
import { OperatorError } from '../../lib/operator-error.ts';
import { main } from '../../main.ts';
import { type ApiClient, openApiClient } from '../api-client.ts';
import { StatusLine } from '../status-line.ts';
import type { IngestResult } from './ingest-folder.ts';
import { watchFolder } from './watch-folder.ts';

const engine = bundledEmbedder();
after(() => engine.close());
const temporary = realpathSync(mkdtempSync(join(tmpdir(), 'quire-watch-')));
after(() => rmSync(temporary, { recursive: true, force: true }));
const api = useApi({
  ...embeddedBy(engine),
  jobs: [INGEST_SOURCE, CHECK_FILE],
  config: { dataDir: join(temporary, 'data') },
});
const folder = join(temporary, 'docs');
const write = (name: string, text: string) => writeFileSync(join(folder, name), text);

/** Tries of `waitFor`: a minute. */
const MAX_TRIES = 1_200;

async function waitFor(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await condition()); tries += 1) {
    assert.ok(tries < MAX_TRIES, `never: ${condition}`);
    await setTimeout(50);
  }
}

/** A running watch: its results and what it printed. */
function startWatch(client: ApiClient) {
  const stopping = new AbortController();
  const results: IngestResult[] = [];
  const output: string[] = [];
  const line = new StatusLine({ isTTY: false, write: (text: string) => output.push(text) });
  const onIngested = (result: IngestResult) => void results.push(result);
  const request = { path: folder, base: 'Watched', source: null };
  const ended = watchFolder(client, request, { line, onIngested }, stopping.signal);
  ended.catch(() => {});
  return {
    results,
    output,
    ended,
    stopping,
    /** Resolves with the result of the next ingestion. */
    next: async () => {
      const count = results.length;
      await waitFor(() => results.length > count);
      return results.at(-1) as IngestResult;
    },
  };
}

describe('quire ingest --watch', { timeout: 180_000 }, () => {
  let worker: ReturnType<typeof startIngestion>;
  let watch: ReturnType<typeof startWatch>;
  /** Thrown by every request while set. */
  let outage: Error | null = null;
  before(async () => {
    worker = startIngestion(api.deps);
    api.deps.jobs.work(INGEST_SOURCE, worker.run);
    process.env['QUIRE_URL'] = api.url;
    process.env['QUIRE_API_KEY'] = api.key;
    mkdirSync(join(folder, 'sub'), { recursive: true });
    symlinkSync('..', join(folder, 'sub/loop'));
    write('a.txt', 'Granite is a stone.');
    watch = startWatch(await client());
    await waitFor(() => watch.results.length === 1);
  });
  after(async () => {
    watch.stopping.abort();
    await worker.stop();
  });
  afterEach(() => mock.restoreAll());

  async function client(): Promise<ApiClient> {
    const real = await openApiClient();
    const send: ApiClient['send'] = async (...args) => {
      if (outage !== null) throw outage;
      return real.send(...args);
    };
    return { ...real, send, json: async (...args) => (await (await send(...args)).json()) as never };
  }

  const list = async (path: string) => (await api.send('GET', `/v1/${path}?limit=100`)).json.data;
  const names = async () => {
    const [base] = await list('knowledge-bases');
    const documents = await list(`knowledge-bases/${base.id}/documents`);
    return documents.map(({ name }: { name: string }) => name).toSorted();
  };

  it('ingests files that an editor replaces, new folders and renamed ones; ignores temporary files', async () => {
    write('.a.txt.swp', 'draft');
    write('~$a.docx', 'lock');
    write('4913', '');
    write('a.txt.tmp', 'Marble is a stone.');
    renameSync(join(folder, 'a.txt.tmp'), join(folder, 'a.txt'));
    mkdirSync(join(folder, 'new/deep'), { recursive: true });
    write('new/deep/b.md', 'Basalt is a stone.');
    const { files } = await watch.next();
    assert.deepEqual([files.new, files.changed, files.gone], [1, 1, 0]);
    assert.match(watch.output.join(''), /New or changed: a\.txt, new\/deep\/b\.md\.\n/);
    renameSync(join(folder, 'new'), join(folder, 'old'));
    await watch.next();
    assert.deepEqual(await names(), ['a.txt', 'old/deep/b.md']);
    assert.match(watch.output.join(''), /Gone: new\/deep\/b\.md\.\n/);
    const stored = await list('files');
    assert.deepEqual(stored.map(({ filename }: { filename: string }) => filename).toSorted(), await names());
  });

  it('uploads a file that is being written when it is complete', async () => {
    const uploads = watch.results.length;
    const next = watch.next();
    for (let part = 0; part < 12; part += 1) {
      appendFileSync(join(folder, 'c.txt'), `Part ${part} of a stone. `);
      await setTimeout(500);
    }
    await next;
    assert.equal(watch.results.length, uploads + 1);
    const [stored] = (await list('files')).filter(({ filename }: { filename: string }) => filename === 'c.txt');
    assert.equal(stored.bytes, statSync(join(folder, 'c.txt')).size);
  });

  it('waits for the service, and for a folder that is empty or missing, and deletes nothing', async () => {
    outage = new OperatorError('No service runs there.');
    write('d.txt', 'Slate is a stone.');
    await waitFor(() => watch.output.join('').includes('No service runs there. Trying again'));
    outage = null;
    await watch.next();
    const before = await names();
    assert.deepEqual(before, ['a.txt', 'c.txt', 'd.txt', 'old/deep/b.md']);
    renameSync(folder, `${folder}-away`);
    await waitFor(() => watch.output.join('').includes(`There is no file or folder at ${folder}.`));
    mkdirSync(folder);
    await waitFor(() => watch.output.join('').includes(`${folder} contains no documents`));
    assert.deepEqual(await names(), before);
    rmSync(folder, { recursive: true });
    renameSync(`${folder}-away`, folder);
    const { files } = await watch.next();
    assert.deepEqual([files.new, files.changed, files.gone, files.unchanged], [0, 0, 0, 4]);
  });

  it('ends with the reason of its signal; a later watch uploads nothing again', async () => {
    const reason = new Error('stopped');
    watch.stopping.abort(reason);
    await assert.rejects(watch.ended, reason);
    const files = await list('files');
    watch = startWatch(await client());
    const { files: counts } = await watch.next();
    assert.deepEqual([counts.new, counts.changed, counts.gone, counts.unchanged], [0, 0, 0, 4]);
    assert.deepEqual(await list('files'), files);
  });

  it('ends when the key is rejected', async () => {
    watch.stopping.abort();
    process.env['QUIRE_API_KEY'] = 'quire-sk-unknown';
    watch = startWatch(await client());
    await assert.rejects(watch.ended, /does not accept the API key/);
    process.env['QUIRE_API_KEY'] = api.key;
  });

  it('the command prints each result as a line of JSON and exits with code 0 at SIGINT', async () => {
    const printed: string[] = [];
    mock.method(console, 'log', (text: string) => printed.push(text));
    let isWatching = false;
    mock.method(process.stderr, 'write', (text: string) => {
      isWatching ||= text.includes('Watching for changes');
      return true;
    });
    const code = main(['ingest', folder, '--kb', 'Watched', '--watch', '--json']);
    await waitFor(() => isWatching);
    write('e.txt', 'Shale is a stone.');
    await waitFor(() => printed.length === 2);
    process.emit('SIGINT');
    assert.equal(await code, 0);
    mock.restoreAll();
    assert.deepEqual(
      printed.map((text) => JSON.parse(text).files.new),
      [0, 1],
    );
  });
});
