import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, it, mock } from 'node:test';
import { bundledEmbedder, embeddedBy } from '../../test/embedder.ts';
import { column, makePdf } from '../../test/fixtures/documents-pdf.ts';
import { useApi } from '../../test/harness.ts';
import { CHECK_FILE } from '../files/check-job.ts';
import { startIngestion } from '../knowledge-bases/ingestion/ingestion-worker.ts';
import { INGEST_SOURCE } from '../knowledge-bases/jobs/ingest-job.ts';
import { main } from '../main.ts';
import { openApiClient } from './api-client.ts';
import { findDocuments } from './ingest/find-documents.ts';
import { ingestFolder } from './ingest/ingest-folder.ts';
import { StatusLine } from './status-line.ts';

const engine = bundledEmbedder();
const embed = engine.embed.bind(engine);
/** Jobs wait for this promise before they embed. */
let embeddingGate = Promise.resolve();
engine.embed = async (request, signal) => embeddingGate.then(() => embed(request, signal));
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'quire-ingest-')));
after(() => engine.close());
after(() => rmSync(folder, { recursive: true, force: true }));
const api = useApi({
  ...embeddedBy(engine),
  jobs: [INGEST_SOURCE, CHECK_FILE],
  config: { dataDir: join(folder, 'data'), ocrEngine: 'off' },
});

/** Runs a command in this process. Calls `onStatus` with each progress line as it is written. */
async function quire(args: readonly string[], onStatus: (text: string) => void = () => {}) {
  const stderrParts: string[] = [];
  const printed: string[] = [];
  mock.method(console, 'log', (text: string) => printed.push(text));
  mock.method(console, 'error', (text: string) => stderrParts.push(`${text}\n`));
  mock.method(process.stderr, 'write', (text: string) => {
    stderrParts.push(text);
    onStatus(text);
    return true;
  });
  const code = await main(args);
  mock.restoreAll();
  const stdout = printed.join('\n');
  return {
    code,
    stdout,
    stderr: stderrParts.join(''),
    json: args.includes('--json') && code < 2 ? JSON.parse(stdout) : null,
  };
}

const write = (name: string, text: string) => writeFileSync(join(folder, 'docs', name), text);
const ingest = (...args: string[]) => quire(['ingest', join(folder, 'docs'), '--kb', 'Town', ...args]);
const all = async (path: string) => (await api.send('GET', `/v1/${path}?limit=100`)).json.data;
const never = () => new AbortController().signal;
const namesIn = async (path: string, field: string) => (await all(path)).map((one: never) => one[field]).toSorted();

describe('quire ingest', () => {
  let worker: ReturnType<typeof startIngestion>;
  before(() => {
    worker = startIngestion(api.deps);
    api.deps.jobs.work(INGEST_SOURCE, worker.run);
    // The form that OpenAI clients require.
    process.env['QUIRE_URL'] = `${api.url}/v1/`;
    process.env['QUIRE_API_KEY'] = api.key;
    mkdirSync(join(folder, 'docs/sub/.hidden'), { recursive: true });
    for (const name of ['pump.txt', 'sub/pump.txt', 'gone.md', 'sub/.hidden/x.md', 'photo.psd'])
      write(name, `On ${name}.`);
    write('lines.jsonl', '{"text": "One."}\n\n{"text": "Two."}\nthree\n');
    write('bad.pdf', 'no PDF');
    write('sub/empty.txt', '');
    symlinkSync('..', join(folder, 'docs/sub/loop'));
  });
  after(() => worker.stop());
  afterEach(() => mock.restoreAll());

  it('reports unsupported and invalid files, ingests the others under their paths', async () => {
    const { code, json, stderr } = await ingest('--json');
    assert.equal(code, 1, stderr);
    assert.deepEqual(
      json.failed.map(({ name }: { name: string }) => name),
      ['bad.pdf', 'sub/empty.txt', 'lines.jsonl'],
    );
    assert.match(json.failed[0].message, /^It is not a PDF/);
    assert.match(stderr, /6\/6 uploading {2}2 failed\n/);
    assert.match(stderr, /6\/6 ingesting {2}5 chunks, 1 failed\n/);
    assert.match(
      stderr,
      /Skipped 1 file of another format: photo\.psd\.\nSkipped 1 symbolic link: sub\/loop\.\nSkipped 1 hidden file or folder: sub\/\.hidden\.\n/,
    );
    assert.match(stderr, /\n3 documents could not be ingested\.\n$/);
    assert.deepEqual(await namesIn(`knowledge-bases/${json.knowledge_base.id}/documents`, 'name'), [
      ...['gone.md', 'lines.jsonl', 'lines.jsonl', 'lines.jsonl', 'pump.txt', 'sub/pump.txt'],
    ]);
  });

  it('continues to wait for running jobs when it is run again after an interrupt', async () => {
    for (const name of ['bad.pdf', 'sub/empty.txt', 'lines.jsonl', 'gone.md']) rmSync(join(folder, 'docs', name));
    write('pump.txt', 'Another text.');
    write('new.txt', 'On the lamp.');
    const hold = Promise.withResolvers<void>();
    embeddingGate = hold.promise;
    const stopped = await quire(['ingest', join(folder, 'docs'), '--kb', 'Town'], (text) => {
      if (/ingesting|queued/.test(text)) process.emit('SIGINT');
    });
    hold.resolve();
    assert.equal(stopped.code, 130, stopped.stderr);
    assert.match(stopped.stderr, /: 1 new, 1 changed, 2 gone, 1 unchanged\.\n/);
    assert.match(stopped.stderr, /The service continues to ingest .* see GET http.*\/ingestion-jobs\/job_\w+\.\n$/);

    const { code, json, stderr } = await ingest('--json');
    assert.equal(code, 0, stderr);
    assert.deepEqual(json.files, { new: 0, changed: 0, gone: 0, unchanged: 3, skipped: 3 });
    const left = ['new.txt', 'pump.txt', 'sub/pump.txt'];
    assert.deepEqual(await namesIn(`knowledge-bases/${json.knowledge_base.id}/documents`, 'name'), left);
    assert.deepEqual(await namesIn('files', 'filename'), left);
    assert.equal((await all(`knowledge-bases/${json.knowledge_base.id}/data-sources`)).length, 1);
  });

  it('leaves no files and no knowledge base when all documents fail or the upload is interrupted', async () => {
    mkdirSync(join(folder, 'bad'));
    writeFileSync(join(folder, 'bad/a.pdf'), 'no PDF');
    const failed = await quire(['ingest', join(folder, 'bad'), '--kb', 'Other']);
    assert.equal(failed.code, 1);
    assert.match(failed.stdout, /^Nothing was ingested\.\nFailed: a\.pdf: It is not a PDF/);

    const files = await all('files');
    const stopped = await quire(['ingest', join(folder, 'docs'), '--kb', 'Other'], (text) => {
      if (text.includes('uploading')) process.emit('SIGINT');
    });
    assert.deepEqual([stopped.code, stopped.stdout], [130, '']);
    assert.match(stopped.stderr, /Deleted the uploaded files: 1 file\.\n$/);
    assert.deepEqual(await all('files'), files);
    assert.deepEqual(await namesIn('knowledge-bases', 'name'), ['Town']);
  });

  it('creates one knowledge base when two commands run concurrently; the next run removes duplicates', async () => {
    mkdirSync(join(folder, 'twice'));
    writeFileSync(join(folder, 'twice/lamp.txt'), 'On the lamp.');
    const request = { path: join(folder, 'twice'), base: 'Twice', source: null };
    const client = await openApiClient();
    // Both commands find no knowledge base before either creates it.
    const bothListed = Promise.withResolvers<void>();
    let creations = 0;
    const slow: typeof client = {
      ...client,
      send: async (method, path, body, options) => {
        if (method !== 'POST' || path !== '/v1/knowledge-bases') return client.send(method, path, body, options);
        creations += 1;
        if (creations === 2) bothListed.resolve();
        await bothListed.promise;
        return client.send(method, path, body, options);
      },
    };
    const run = () => ingestFolder(slow, request, new StatusLine({ isTTY: false, write: () => true }), never());
    const ids = (await Promise.all([run(), run()])).map((result) => result.knowledge_base?.id);
    assert.equal(ids[0], ids[1]);
    assert.deepEqual(await namesIn('knowledge-bases', 'name'), ['Town', 'Twice']);
    assert.deepEqual((await run()).files, { new: 0, changed: 0, gone: 1, unchanged: 1, skipped: 0 });
    assert.deepEqual(await namesIn(`knowledge-bases/${ids[0]}/documents`, 'name'), ['lamp.txt']);
    await api.send('DELETE', `/v1/knowledge-bases/${ids[0]}`);
    // The server still replays the creation of the deleted knowledge base.
    const again = (await run()).knowledge_base?.id;
    assert.notEqual(again, ids[0]);
    await api.send('DELETE', `/v1/knowledge-bases/${again}`);
  });

  it('prints the warnings of documents and jobs about missing text', async () => {
    mkdirSync(join(folder, 'scans'));
    writeFileSync(join(folder, 'scans/half.pdf'), makePdf([column(['On the lamp.'], 60, 700), []]));
    const { code, stdout } = await quire(['ingest', join(folder, 'scans'), '--kb', 'Scans']);
    const message = '1 of 2 pages have no text: they are blank, or images such as scans.';
    assert.deepEqual([code, stdout.split('\n')[1]], [0, `Warning: half.pdf: ${message}`]);
    const base = (await all('knowledge-bases')).find(({ name }: { name: string }) => name === 'Scans').id;
    const [document] = await all(`knowledge-bases/${base}/documents`);
    assert.deepEqual([document.error, document.warnings], [null, [{ code: 'text_missing', message }]]);
    const [job] = await all(`knowledge-bases/${base}/ingestion-jobs`);
    const { json } = await api.send('GET', `/v1/knowledge-bases/${base}/ingestion-jobs/${job.id}`);
    assert.deepEqual(json.document_details[0].warnings, document.warnings);
    await api.send('DELETE', `/v1/knowledge-bases/${base}`);
  });

  it('exits with code 1 when a job fails as a whole, although no document failed', async () => {
    mkdirSync(join(folder, 'cancelled'));
    writeFileSync(join(folder, 'cancelled/lamp.txt'), 'On the lamp.');
    const hold = Promise.withResolvers<void>();
    embeddingGate = hold.promise;
    let cancelling: Promise<unknown> | null = null;
    const cancel = async () => {
      const base = (await all('knowledge-bases')).find(({ name }: { name: string }) => name === 'Cancelled').id;
      const [job] = await all(`knowledge-bases/${base}/ingestion-jobs`);
      await api.send('POST', `/v1/knowledge-bases/${base}/ingestion-jobs/${job.id}/cancel`);
      hold.resolve();
      return base;
    };
    const args = ['ingest', join(folder, 'cancelled'), '--kb', 'Cancelled', '--json'];
    const { code, json, stderr } = await quire(args, (text) => {
      if (/ingesting|queued/.test(text)) cancelling ??= cancel();
    });
    const [{ job }] = json.data_sources;
    assert.deepEqual([job.status, job.error.code, job.documents_failed], ['failed', 'cancelled', 0]);
    assert.deepEqual([code, json.failed_count], [1, 1]);
    assert.deepEqual(
      json.failed.map(({ name }: { name: string }) => name),
      [json.data_sources[0].id],
    );
    assert.match(stderr, /1 document could not be ingested\.\n$/);
    await api.send('DELETE', `/v1/knowledge-bases/${await cancelling}`);
  });

  it('skips and reports names that are not valid UTF-8', async () => {
    const root = join(folder, 'odd');
    mkdirSync(root);
    const named = (end: string) => Buffer.concat([Buffer.from(`${root}/bad`), Buffer.of(0xff, 0xfe), Buffer.from(end)]);
    for (const end of ['.txt', '.psd']) writeFileSync(named(end), 'On the lamp.');
    mkdirSync(named(''));
    writeFileSync(join(root, 'good ä.txt'), 'On the lamp.');
    const { documents, failures, skipped } = await findDocuments(root);
    assert.deepEqual(documents, [{ name: 'good ä.txt', path: join(root, 'good ä.txt') }]);
    const message = 'Skipped: its name is not valid UTF-8.';
    assert.deepEqual(failures, [
      { name: 'bad\ufffd\ufffd/', message },
      { name: 'bad\ufffd\ufffd.txt', message },
    ]);
    assert.deepEqual(skipped.format, ['bad\ufffd\ufffd.psd']);
  });

  it('rejects a named pipe', async () => {
    const pipe = join(folder, 'pipe.txt');
    execFileSync('mkfifo', [pipe]);
    const { code, stderr } = await quire(['ingest', pipe, '--kb', 'Other']);
    assert.deepEqual([code, stderr], [1, `${pipe} is neither a file nor a folder.\n`]);
  });

  it('kb list, show, search and delete accept the name', async () => {
    const before = (await quire(['kb', 'list', '--json'])).json;
    const town = before.find(({ name }: { name: string }) => name === 'Town');
    assert.match((await quire(['kb', 'list'])).stdout, new RegExp(`^NAME .*\\n(.*\\n)*Town .* ${town.id}`));
    const shown = (await quire(['kb', 'show', 'Town', '--json'])).json;
    assert.deepEqual([shown.id, shown.data_sources.length > 0], [town.id, true]);
    const found = (await quire(['kb', 'search', 'Town', 'the', 'harbour', '--top', '1', '--json'])).json;
    assert.deepEqual([found.query, found.results.length], ['the harbour', 1]);
    assert.match(
      (await quire(['kb', 'show', 'Twon'])).stderr,
      /^There is no knowledge base 'Twon'\. Did you mean 'Town'\?\n$/,
    );
    assert.match((await quire(['kb', 'delete', 'Town'])).stderr, /^This deletes .* Repeat it with --yes\.\n$/);
    assert.equal((await quire(['kb', 'delete', 'Town', '--yes'])).stdout, `Deleted 'Town' (${town.id}).`);
    assert.equal((await quire(['kb', 'list', '--json'])).json.length, before.length - 1);
  });

  it('exits with code 2 on a usage error', async () => {
    assert.match((await quire(['ask', 'x', '--kb', ''])).stderr, /^--kb must not be empty\./);
    assert.match((await quire(['ask', ' '])).stderr, /^'question' must not be empty\./);
    process.env['QUIRE_URL'] = 'localhost:8080';
    assert.match((await quire(['ask', 'x'])).stderr, /^QUIRE_URL must be an address/);
    process.env['QUIRE_URL'] = api.url;
    process.env['QUIRE_API_KEY'] = '';
    const { code, stderr } = await ingest();
    assert.equal(code, 1);
    assert.match(stderr, /^Set QUIRE_API_KEY to an API key/);
  });
});
