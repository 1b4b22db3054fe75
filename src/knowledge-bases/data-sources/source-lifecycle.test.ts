import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { CONNECTOR_SERVICES, type ConnectorService } from '../../../test/fixtures/connector-services.ts';
import { useSync } from '../../../test/sync.ts';

const baseOf = (path: string) => path.replace(/\/data-sources\/.*/, '');

describe('creating a data source needs no third party', () => {
  const { api, create } = useSync();

  for (const [type, start] of Object.entries(CONNECTOR_SERVICES)) {
    it(`${type}: rejected credentials make the source fail at once, and work again after a change`, async () => {
      const service = await start(3);
      after(() => service.close());
      if (service.revoke === null) return;
      service.put('doc', 'Granite.');
      service.revoke();
      service.requests.reset();
      const source = await create({ type, config: service.config });
      assert.equal(source.first.status, 'failed');
      assert.ok(['authentication_failed', 'access_denied'].includes(source.first.error.code), source.first.error.code);
      assert.equal(source.first.error.retryable, false);
      assert.ok(service.requests.count() <= 1, `${service.requests.count()} requests with rejected credentials`);
      assert.equal((await source.source()).status, 'error');
      assert.equal((await api.send('GET', baseOf(source.path))).json.status, 'error');
      assert.equal((await api.send('DELETE', source.path)).status, 200);
      assert.equal((await api.send('GET', baseOf(source.path))).json.status, 'active');
    });
  }

  it('an unreachable service is retried until it answers', async () => {
    const service = await CONNECTOR_SERVICES['s3']!(3);
    service.put('doc', 'Granite.');
    after(() => service.close());
    // A gateway that refuses the first connections, as a service that restarts.
    let refused = 0;
    const gateway = createServer((request, response) => {
      if (refused < 8) {
        refused += 1;
        request.socket.destroy();
        return;
      }
      const target = new URL(request.url ?? '/', String(service.config['endpoint']));
      void fetch(target, { headers: request.headers as Record<string, string> }).then(async (answer) => {
        response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' });
        response.end(Buffer.from(await answer.arrayBuffer()));
      });
    }).listen(0, '127.0.0.1');
    await once(gateway, 'listening');
    after(() => gateway.close().closeAllConnections());
    const endpoint = `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`;
    const source = await create({ type: 's3', config: { ...service.config, endpoint } });
    assert.deepEqual([source.first.status, source.first.documents_processed], ['completed', 1]);
    assert.equal(refused, 8);
  });
});

describe('deletions and failures of a source', () => {
  const { api, create } = useSync();
  let service: ConnectorService;
  before(async () => {
    service = await CONNECTOR_SERVICES['s3']!(3);
    for (const name of ['a/1', 'a/2', 'b/1', 'b/2', 'b/3']) service.put(name, `Text of ${name}.`);
  });
  after(() => service.close());
  const names = async (source: Awaited<ReturnType<typeof create>>) =>
    (await source.documents()).map(({ name }: { name: string }) => name);

  it('the documents of a former prefix are deleted by the second sync only', async () => {
    const source = await create({ type: 's3', config: { ...service.config, prefix: 'a/' } });
    assert.deepEqual(await names(source), ['a/1.txt', 'a/2.txt']);
    const first = await source.change({ prefix: 'b/' });
    assert.deepEqual([first.documents_new, first.documents_deleted, first.documents_pending_deletion], [3, 0, 2]);
    assert.deepEqual(await names(source), ['a/1.txt', 'a/2.txt', 'b/1.txt', 'b/2.txt', 'b/3.txt']);
    assert.equal((await source.sync()).documents_deleted, 2);
    assert.deepEqual(await names(source), ['b/1.txt', 'b/2.txt', 'b/3.txt']);
  });

  it('a document that fails again is no modified document; one that succeeds is', async () => {
    service.put('c/bad', ' ');
    service.put('c/good', 'Basalt.');
    const source = await create({ type: 's3', config: { ...service.config, prefix: 'c/' } });
    const counts = ({
      documents_new,
      documents_modified,
      documents_failed,
      documents_skipped,
    }: Record<string, number>) => [documents_new, documents_modified, documents_failed, documents_skipped];
    assert.deepEqual(counts(source.first), [2, 0, 1, 0]);
    assert.deepEqual(counts(await source.sync()), [0, 0, 1, 1]);
    service.put('c/bad', 'Now with text.');
    assert.deepEqual(counts(await source.sync()), [0, 1, 0, 1]);
  });

  it('files of JSONL are read by the fields of the config, and again when these change', async () => {
    const upload = async (content: string) => {
      const form = new FormData();
      form.set('purpose', 'knowledge-base');
      form.set('file', new Blob([content]), 'faq.jsonl');
      const headers = { authorization: `Bearer ${api.key}` };
      const response = await fetch(`${api.url}/v1/files`, { method: 'POST', headers, body: form });
      return ((await response.json()) as { id: string }).id;
    };
    const id = await upload('{"frage":"Wo?","antwort":"Hier \\"drüben\\".","nr":1}\n{"frage":"Wann?","nr":2}\n');
    const config = { file_ids: [id], text_fields: ['frage', 'antwort'] };
    const source = await create({ type: 'file_upload', config });
    assert.deepEqual([source.first.documents_processed, source.first.documents_failed], [2, 0]);
    const [hit] = await source.find('drüben', { filters: { metadata: { nr: 1 } } });
    assert.equal(hit.text, 'Wo?\n\nHier "drüben".');
    await source.change({ text_fields: ['antwort'] });
    assert.equal((await source.find('drüben'))[0].text, 'Hier "drüben".');
  });
});
