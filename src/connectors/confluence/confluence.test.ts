import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type ConfluenceServer, startConfluence } from '../../../test/fixtures/confluence-server.ts';
import { assertError } from '../../../test/harness.ts';
import { useSync } from '../../../test/sync.ts';
import { storageToMarkdown } from './storage-to-markdown.ts';

type Job = Record<string, unknown>;
const counts = (job: Job) => ['new', 'modified', 'deleted', 'skipped'].map((name) => job[`documents_${name}`]);

describe('storageToMarkdown', () => {
  const cases: Record<string, [storage: string, markdown: string]> = {
    'headings and paragraphs': [
      '<h2>A &amp; B</h2><p>One<br/>two&nbsp;thr&eacute;e</p><p/>',
      '## A & B\n\nOne\ntwo thrée',
    ],
    lists: ['<ul><li>a<ol><li>b</li><li><p>c</p></li></ol></li><li>d</li></ul>', '- a\n\n  1. b\n\n  2. c\n\n- d'],
    tables: [
      '<table><tbody><tr><th><p>A</p></th><th>B</th></tr><tr><td>1|2</td><td><p>x</p><p>y</p></td></tr></tbody></table><p>end</p>',
      '| A | B |\n| --- | --- |\n| 1\\|2 | x y |\n\nend',
    ],
    'code macros': [
      '<ac:structured-macro ac:name="code"><ac:parameter ac:name="language">js</ac:parameter><ac:plain-text-body><![CDATA[if (a < b)\n  c();]]></ac:plain-text-body></ac:structured-macro>',
      '```\nif (a < b)\n  c();\n```',
    ],
    'other macros': [
      '<ac:structured-macro ac:name="info"><ac:parameter ac:name="title">T</ac:parameter><ac:rich-text-body><p>Note</p></ac:rich-text-body></ac:structured-macro>',
      'Note',
    ],
    'links, dates and tasks': [
      '<p>See <ac:link><ri:page ri:content-title="Pumps"/></ac:link> and <ac:link><ri:page ri:content-title="Valves"/><ac:plain-text-link-body><![CDATA[the other]]></ac:plain-text-link-body></ac:link> or <ac:link><ri:attachment ri:filename="a.txt"/><ac:link-body><em>the file</em></ac:link-body></ac:link> on <time datetime="2026-01-02"/></p><ac:task-list><ac:task><ac:task-id>1</ac:task-id><ac:task-status>complete</ac:task-status><ac:task-body>Do it</ac:task-body></ac:task></ac:task-list>',
      'See Pumps and the other or the file on 2026-01-02\n\n- Do it',
    ],
    'damaged markup': ['<p>a<b>c', 'ac'],
  };
  for (const [name, [storage, markdown]] of Object.entries(cases)) {
    it(name, () => assert.equal(storageToMarkdown(storage), markdown));
  }
});

describe('a data source of the type confluence', () => {
  const { api, create, probe } = useSync();
  let wiki: ConfluenceServer;
  before(async () => {
    wiki = await startConfluence();
    wiki.spaces.push(
      { id: '1', key: 'ENG', name: 'Engineering' },
      { id: '2', key: 'HR', name: 'People' },
      { id: '3', key: 'OPS', name: 'Operations' },
    );
    const page = (title: string, storage: string, more: object = {}) => ({
      spaceId: '1',
      title,
      parentId: null,
      version: 1,
      storage,
      ...more,
    });
    wiki.pages.set(
      '12',
      page('Pump', '<p>The pump moves granite dust.</p>', { parentId: '11', labels: ['hydraulics'] }),
    );
    wiki.pages.set('11', page('Machines', '<p>All machines.</p>'));
    wiki.pages.set('13', page('Closed', '', { status: 403 }));
    wiki.pages.set('21', page('Holidays', '<p>Salmon for lunch.</p>', { spaceId: '2' }));
    wiki.attachments.set('att1', { pageId: '12', title: 'data.txt', version: 1, content: 'Copper values.' });
    wiki.attachments.set('att2', { pageId: '12', title: 'photo.gif', version: 1, content: 'gif' });
    wiki.attachments.set('att3', { pageId: '99', title: 'other.txt', version: 1, content: 'Elsewhere.' });
  });
  after(() => wiki.close());
  const body = (more: object = {}) => {
    const credentials = { email: 'reader@acme.example', api_token: wiki.token };
    return { type: 'confluence', config: { url: wiki.url, credentials, ...more } };
  };

  it('ingests pages and attachments with their place, and sees changes, deletions and revoked tokens', async () => {
    wiki.faults = [429];
    assertError(await probe(body()), 400, 'invalid_value', 'config.url');
    const source = await create(body({ url: `${wiki.url}/wiki/` }));
    assert.deepEqual([source.first.status, source.first.documents_processed], ['completed', 4]);
    const failed = source.first.document_details.find(({ status }: Job) => status === 'failed');
    assert.deepEqual([failed.document_name, failed.error.code], ['Closed', 'access_denied']);
    const [pump] = await source.find('granite', { filters: { metadata: { labels: 'hydraulics' } } });
    assert.deepEqual([pump.metadata.space, pump.metadata.ancestors], ['ENG', ['Machines']]);
    const documents = await source.documents();
    const uri = documents.find(({ name }) => name === 'Pump').source_uri;
    assert.equal(uri, `${wiki.url}/wiki/spaces/ENG/pages/12/Pump`);
    assert.equal((await source.find('copper')).length, 1);

    wiki.pages.delete('13');
    const pump2 = wiki.pages.get('12');
    if (pump2 !== undefined) Object.assign(pump2, { version: 2, storage: '<p>The pump moves basalt.</p>' });
    wiki.attachments.delete('att1');
    wiki.requests.length = 0;
    wiki.faults = [503, 429];
    assert.deepEqual(counts(await source.sync()), [0, 1, 2, 2]);
    assert.equal(wiki.requests.filter((path) => /\/pages\/\w+$/.test(path)).length, 1, 'one page is fetched');
    assert.equal((await source.find('basalt')).length, 1);

    // The version of a page stays when an ancestor is renamed.
    const machines = wiki.pages.get('11');
    if (machines !== undefined) Object.assign(machines, { title: 'Equipment', version: 2 });
    assert.deepEqual(counts(await source.sync()), [0, 2, 0, 1]);

    wiki.token = 'token-2';
    const job = await source.sync();
    assert.deepEqual([job.status, job.error.code, job.documents_deleted], ['failed', 'authentication_failed', 0]);
    const rotated = { config: { credentials: { email: 'reader@acme.example', api_token: 'token-2' } } };
    assert.equal((await api.send('PATCH', source.path, { body: rotated })).status, 200);
    assert.equal((await source.sync()).status, 'completed');
  });

  it('reads the named spaces only, and fails when one of them is gone', async () => {
    const source = await create(body({ space_keys: ['HR', 'OPS', 'ENG'].slice(0, 2) }));
    assert.deepEqual(
      (await source.documents()).map(({ name }) => name),
      ['Holidays'],
    );
    const [hr] = wiki.spaces.splice(1, 1);
    const job = await source.sync();
    assert.deepEqual([job.status, job.error.code, job.documents_deleted], ['failed', 'not_found', 0]);
    if (hr !== undefined) wiki.spaces.push(hr);
  });

  it('sends its credentials to no server that a link names', async (t) => {
    const other = await startConfluence();
    t.after(() => other.close());
    Object.assign(wiki, { pageSize: 1, linkedServer: other.url });
    const { first } = await create(body());
    Object.assign(wiki, { pageSize: 2, linkedServer: '' });
    assert.deepEqual([first.status, first.error.code, other.requests], ['failed', 'blocked_url', []]);
  });

  it('400 for rejected tokens, unknown spaces and blocked addresses', async () => {
    const wrong = { credentials: { email: 'reader@acme.example', api_token: 'wrong' } };
    assertError(await probe(body(wrong)), 400, 'invalid_value', 'config.credentials');
    assertError(await probe(body({ space_keys: ['NONE'] })), 400, 'invalid_value', 'config');
    for (const url of ['http://127.0.0.2:1', 'http://0x7f000002/', 'http://[::1]/wiki', 'http://169.254.169.254']) {
      const answer = await probe(body({ url }));
      assertError(answer, 400, 'invalid_value', 'config.url');
      assert.match(answer.json.error.message, /blocked address/);
    }
  });
});
