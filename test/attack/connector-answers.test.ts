import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { CONNECTOR_SERVICES, type ConnectorService } from '../fixtures/connector-services.ts';
import { encodeForm, sendForm } from '../forms.ts';
import { assertError } from '../harness.ts';
import { stream, words } from '../scripted-engine.ts';
import { type SyncedSource, useSync } from '../sync.ts';

const { api, create, probe } = useSync();
const QUESTION = 'How much dust does the pump of Aldra move?';
const OTHERS = {
  harbour: 'The harbour of Skelby has seven cranes for timber.',
  bakery: 'Bread costs two pounds at the bakery of Mr Cole.',
  library: 'The library in Ashford opens at nine on Saturdays.',
};

/** Asks with the knowledge base of a source; the model answers with `answer`. Returns its citations and the prompt. */
async function ask({ path }: SyncedSource, answer: string) {
  api.engine.play(() => stream(words(answer)));
  const messages = [{ role: 'user', content: QUESTION }];
  const body = { model: 'general-8b', messages, knowledge_bases: [path.split('/')[3]] };
  const { status, json, text } = await api.send('POST', '/v1/chat/completions', { body });
  assert.equal(status, 200, text);
  return {
    // biome-ignore lint/suspicious/noExplicitAny: what a test asserts on is whatever came over the wire.
    annotations: json.choices[0].message.annotations as any[],
    prompt: JSON.stringify(api.engine.calls.at(-1)?.request.prompt),
  };
}

for (const [type, start] of Object.entries(CONNECTOR_SERVICES)) {
  describe(`a data source of the type ${type}`, () => {
    let service: ConnectorService;
    before(async () => {
      service = await start(2);
    });
    after(() => service.close());

    it('answers from empty with citations that link to the page, and sees a change, a deletion and revoked credentials', async () => {
      const source = await create({ type, config: service.config });
      assert.deepEqual([source.first.status, source.first.error], ['completed', null]);
      for (const [name, text] of Object.entries(OTHERS)) service.put(name, text);
      service.put('pump', 'The pump of Aldra moves nine tonnes of granite dust.');
      assert.equal((await source.sync()).documents_new, 4);
      const first = await ask(source, 'The pump of Aldra moves nine tonnes of granite dust.');
      const link = first.annotations.find((annotation) => annotation.type === 'url_citation');
      // The fragment leads to the passage.
      const [address] = link.url_citation.url.split('#:~:text=');
      assert.deepEqual([address, link.url_citation.start_index], [service.url('pump'), 0]);

      service.put('pump', 'The pump of Aldra moves eleven tonnes of basalt dust.');
      assert.equal((await source.sync()).documents_modified, 1);
      const changed = await ask(source, 'The pump of Aldra moves eleven tonnes of basalt dust.');
      assert.equal(changed.annotations.length, 2);
      assert.doesNotMatch(changed.prompt, /nine tonnes/);

      service.remove('pump');
      assert.equal((await source.sync()).documents_deleted, 1);
      const gone = await ask(source, 'The pump of Aldra moves eleven tonnes of basalt dust.');
      assert.deepEqual(gone.annotations, []);
      assert.doesNotMatch(gone.prompt, /basalt/);

      if (service.revoke === null) return;
      service.revoke();
      const failed = await source.sync();
      assert.deepEqual([failed.status, failed.error.code], ['failed', 'authentication_failed']);
      assert.equal((await source.source()).error.code, 'authentication_failed');
      assert.equal((await source.documents()).length, 3);
    });
  });
}

describe('a data source of the type file_upload', () => {
  const upload = async (text: string): Promise<string> => {
    const parts = [
      { name: 'purpose', content: 'knowledge-base' },
      { name: 'file', filename: 'pump.txt', content: text },
    ];
    return (await sendForm(`${api.url}/v1/files`, encodeForm(parts), { key: api.key })).json.id;
  };

  it('cites the id of the file, and follows replaced and deleted files', async () => {
    const old = await upload('The pump of Aldra moves nine tonnes of granite dust.');
    const source = await create({ type: 'file_upload', config: { file_ids: [old] } });
    const cited = await ask(source, 'The pump of Aldra moves nine tonnes of granite dust.');
    assert.deepEqual(
      cited.annotations.map(({ file_id }) => file_id),
      [old],
    );
    const file = await upload('The pump of Aldra moves eleven tonnes of basalt dust.');
    assert.equal((await api.send('PATCH', source.path, { body: { config: { file_ids: [file] } } })).status, 200);
    await source.sync();
    const changed = await ask(source, 'The pump of Aldra moves eleven tonnes of basalt dust.');
    assert.deepEqual(
      changed.annotations.map(({ file_id }) => file_id),
      [file],
    );
    await api.send('DELETE', `/v1/files/${file}`);
    await source.sync();
    assert.deepEqual((await ask(source, 'It moves eleven tonnes of basalt dust.')).annotations, []);
  });
});

describe('a service that does not answer', () => {
  let silent: Server;
  before(async () => {
    silent = createServer(() => {}).listen(0, '127.0.0.1');
    await once(silent, 'listening');
  });
  after(() => silent.close());

  it('400 after 15 seconds, naming the address and not the credentials', async () => {
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const secrets = { access_key_id: 'AKIA1', secret_access_key: 'secret' };
    const token = { email: 'reader@acme.example', api_token: 'token' };
    const sources = [
      { type: 's3', config: { bucket: 'bucket', endpoint: url, credentials: secrets } },
      { type: 'confluence', config: { url, credentials: token } },
    ];
    const started = performance.now();
    const answers = await Promise.all(sources.map(probe));
    for (const [index, param] of ['config.endpoint', 'config.url'].entries()) {
      const answer = answers[index];
      assert.ok(answer !== undefined);
      assertError(answer, 400, 'invalid_value', param);
      assert.match(answer.json.error.message, /did not answer within 15 seconds/);
    }
    assert.ok(performance.now() - started < 25_000);
  });
});
