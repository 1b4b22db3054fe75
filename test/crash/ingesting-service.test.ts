import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { encodeForm, sendForm } from '../forms.ts';
import { newDataDir, type Service, startService, until, useEmbeddedDatabases } from '../spawned-service.ts';
import { NO_TIME_LIMIT, ROUNDS } from './rounds.ts';

useEmbeddedDatabases();

/** Lines of the ingested file: one document each, with a unique word. */
const LINES = 300;
/** Maximum ingestion time before the kill; each round draws a random time. */
const LOAD_MS = 2_500;

/** No chat model is needed. */
const env = { QUIRE_UPSTREAM_URL: 'http://127.0.0.1:9' };
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** A complete response. */
interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: what is asserted on is whatever came over the wire.
  json: any;
}

async function send(service: Service, method: string, path: string, body?: object): Promise<Answer> {
  const answer = await fetch(service.url + path, {
    method,
    headers: { authorization: `Bearer ${service.key}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: answer.status, json: await answer.json() };
}

const jsonLine = (number: number) =>
  JSON.stringify({ text: `This document is about word${number}x and nothing else.`, number });

/** A knowledge base with a running ingestion. */
async function startIngestion(service: Service): Promise<{ base: string; file: string }> {
  const content = Buffer.from(Array.from({ length: LINES }, (_, i) => jsonLine(i)).join('\n'));
  const parts = [
    { name: 'purpose', content: 'knowledge-base' },
    { name: 'file', filename: 'lines.jsonl', content },
  ];
  const file = (await sendForm(`${service.url}/v1/files`, encodeForm(parts), { key: service.key })).json.id;
  const base = (await send(service, 'POST', '/v1/knowledge-bases', { name: 'Base' })).json.id;
  const source = { type: 'file_upload', config: { file_ids: [file] } };
  const { status, json } = await send(service, 'POST', `/v1/knowledge-bases/${base}/data-sources`, source);
  assert.equal(status, 200, JSON.stringify(json));
  return { base, file };
}

async function untilIngested(service: Service, base: string): Promise<void> {
  await until(async () => {
    const { json } = await send(service, 'GET', `/v1/knowledge-bases/${base}/ingestion-jobs`);
    assert.notEqual(json.data[0].status, 'failed', JSON.stringify(json.data[0]));
    return json.data[0].status === 'completed';
  });
}

/** Fetches the lists of documents and chunks. */
async function counted(service: Service, base: string): Promise<{ documents: number; chunks: number }> {
  const found = { documents: 0, chunks: 0 };
  for (let after = ''; ; ) {
    const { json } = await send(service, 'GET', `/v1/knowledge-bases/${base}/documents?limit=100${after}`);
    found.documents += json.data.length;
    for (const { chunk_count } of json.data) found.chunks += chunk_count;
    if (!json.has_more) return found;
    after = `&after=${json.last_id}`;
  }
}

describe('SIGKILL during ingestion', () => {
  it('loses and duplicates no document, and restores no deleted one', NO_TIME_LIMIT, async () => {
    const dataDir = newDataDir();
    for (let round = 0; round < ROUNDS; round += 1) {
      let service = await startService({ dataDir, env });
      const kept = await startIngestion(service);
      const doomed = await startIngestion(service);
      await pause(Math.random() * LOAD_MS);
      const deletion = send(service, 'DELETE', `/v1/knowledge-bases/${doomed.base}`).catch(() => null);
      await pause(Math.random() * 50);
      await service.kill();
      const wasDeleted = (await deletion)?.status === 200;
      service = await startService({ dataDir, env });
      await untilIngested(service, kept.base);
      const { json: base } = await send(service, 'GET', `/v1/knowledge-bases/${kept.base}`);
      assert.deepEqual([base.status, base.document_count, base.chunk_count], ['active', LINES, LINES]);
      assert.deepEqual(await counted(service, kept.base), { documents: LINES, chunks: LINES });
      for (const number of [0, Math.floor(LINES / 2), LINES - 1]) {
        const query = { query: `word${number}x`, search_type: 'keyword' };
        const { json } = await send(service, 'POST', `/v1/knowledge-bases/${kept.base}/retrieve`, query);
        assert.deepEqual(
          json.results.map(({ metadata }: { metadata: { number: number } }) => metadata.number),
          [number],
        );
      }
      if (wasDeleted) assert.equal((await send(service, 'GET', `/v1/knowledge-bases/${doomed.base}`)).status, 404);
      const { json: job } = await send(service, 'GET', `/v1/knowledge-bases/${kept.base}/ingestion-jobs`);
      assert.deepEqual(
        [job.data.length, job.data[0].documents_processed, job.data[0].chunks_created],
        [1, LINES, LINES],
      );
      assert.equal(
        (await send(service, 'DELETE', `/v1/files/${kept.file}`)).status,
        200,
        'nothing needs the file any more',
      );
      assert.deepEqual(await service.stop(), { code: 0, signal: null });
    }
  });
});
