import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { block, type NotionServer, notionId, rich, startNotion } from '../../../test/fixtures/notion-server.ts';
import { assertError } from '../../../test/harness.ts';
import { useSync } from '../../../test/sync.ts';
import { CONNECTORS } from '../index.ts';
import { createNotion, notion } from './notion.ts';

type Job = Record<string, unknown>;
const counts = (job: Job) => ['new', 'modified', 'deleted', 'skipped'].map((name) => job[`documents_${name}`]);
const names = (documents: { name: string }[]) => documents.map(({ name }) => name);

describe('a data source of the type notion', () => {
  const { api, create, probe } = useSync();
  let workspace: NotionServer;
  const page = (title: string, parent: object, more: Record<string, object> = {}) => ({
    parent,
    last_edited_time: '2026-01-01T00:00:00.000Z',
    url: `https://www.notion.so/${title}`,
    properties: { Name: { type: 'title', title: rich(title) }, ...more },
  });
  const inSource = (id: string) => ({ type: 'data_source_id', data_source_id: id, database_id: notionId('d') });
  const under = (digit: string) => ({ type: 'page_id', page_id: notionId(digit) });
  before(async () => {
    workspace = await startNotion();
    Object.assign(CONNECTORS, { notion: createNotion(workspace.url, 1000) });
    const tags = { type: 'multi_select', multi_select: [{ name: 'pumps' }, { name: 'stone' }] };
    const more = {
      Tags: tags,
      Due: { type: 'date', date: { start: '2026-02-01' } },
      Size: { type: 'number', number: 7 },
    };
    workspace.pages.set(notionId('1'), page('Home', { type: 'workspace', workspace: true }));
    workspace.pages.set(notionId('2'), page('Below', { type: 'block_id', block_id: notionId('a') }));
    workspace.pages.set(notionId('3'), page('Row', inSource(notionId('d').replace('d', 'e')), more));
    workspace.pages.set(notionId('4'), page('Elsewhere', { type: 'workspace', workspace: true }));
    workspace.databases.set(notionId('d'), page('Table', under('1')));
    workspace.blocks.set(notionId('1'), [
      block(notionId('b'), 'heading_1', 'Rocks'),
      block(notionId('a'), 'toggle', 'More on granite', { has_children: true, parent: under('1') }),
      block(notionId('7'), 'table', '', { has_children: true }),
      {
        object: 'block',
        id: notionId('8'),
        type: 'synced_block',
        has_children: true,
        synced_block: { synced_from: { block_id: notionId('9') } },
      },
      block(notionId('c'), 'code', 'if (a < b) c();'),
    ]);
    workspace.blocks.set(notionId('a'), [block(notionId('e'), 'bulleted_list_item', 'Nested basalt')]);
    workspace.blocks.set(notionId('7'), [
      { id: notionId('f'), type: 'table_row', has_children: false, table_row: { cells: [rich('A'), rich('B')] } },
    ]);
    // The original contains a copy of itself.
    workspace.blocks.set(notionId('9'), [
      block('90', 'paragraph', 'Synced salmon'),
      {
        object: 'block',
        id: '91',
        type: 'synced_block',
        has_children: true,
        synced_block: { synced_from: { block_id: notionId('9') } },
      },
    ]);
  });
  after(() => {
    Object.assign(CONNECTORS, { notion });
    workspace.close();
  });
  const body = (more: object = {}) => {
    return { type: 'notion', config: { credentials: { integration_token: workspace.token }, ...more } };
  };
  const change = (digit: string, fields: object) => Object.assign(workspace.pages.get(notionId(digit)) ?? {}, fields);

  it('ingests pages with blocks and properties, and sees changes, deletions and revoked tokens', async () => {
    const source = await create(body());
    assert.deepEqual([source.first.status, source.first.documents_processed], ['completed', 4]);
    const [home] = await source.find('nested basalt');
    assert.equal(home.document_name, 'Home');
    assert.equal(home.text.split('Synced salmon').length, 2, 'a block that contains itself is read once');
    for (const part of [
      'Rocks',
      '- More on granite',
      '- Nested basalt',
      '| A | B |',
      'Synced salmon',
      'if (a < b) c();',
    ]) {
      assert.ok(home.text.includes(part), `${part} in ${home.text}`);
    }
    const [row] = await source.find('row', { filters: { metadata: { Tags: 'pumps', Size: { $gt: 6 } } } });
    assert.deepEqual([row.metadata.Due, row.metadata.Tags], ['2026-02-01', ['pumps', 'stone']]);
    assert.equal((await source.documents())[1].source_uri, 'https://www.notion.so/Elsewhere');

    workspace.blocks.get(notionId('1'))?.push(block('99', 'paragraph', 'Copper added'));
    change('1', { last_edited_time: '2026-01-02T00:00:00.000Z' });
    workspace.pages.delete(notionId('4'));
    workspace.requests.length = 0;
    workspace.faults = [429, 503];
    assert.deepEqual(counts(await source.sync()), [0, 1, 1, 2]);
    assert.deepEqual(
      workspace.requests.filter((path) => path.startsWith('GET /v1/pages/')),
      [],
    );
    assert.equal((await source.find('copper')).length, 1);

    workspace.token = 'ntn_2';
    const job = await source.sync();
    assert.deepEqual([job.status, job.error.code, job.documents_deleted], ['failed', 'authentication_failed', 0]);
    const rotated = { config: { credentials: { integration_token: 'ntn_2' } } };
    assert.equal((await api.send('PATCH', source.path, { body: rotated })).status, 200);
    assert.equal((await source.sync()).status, 'completed');
    workspace.pages.set(notionId('4'), page('Elsewhere', { type: 'workspace', workspace: true }));
  });

  it('reads named pages with all pages below them, and the pages of named databases', async () => {
    const below = await create(body({ page_ids: [notionId('1').replaceAll('-', '')] }));
    assert.deepEqual(names(await below.documents()), ['Below', 'Home', 'Row']);
    const rows = await create(body({ database_ids: [notionId('d')] }));
    assert.deepEqual(names(await rows.documents()), ['Row']);
    workspace.databases.delete(notionId('d'));
    const job = await rows.sync();
    assert.deepEqual([job.status, job.error.code, job.documents_deleted], ['failed', 'not_found', 0]);
    workspace.databases.set(notionId('d'), page('Table', under('1')));
  });

  it('takes no page in the trash, wherever it is listed', async () => {
    const trashed = ['2', '3', '4'];
    for (const digit of trashed) change(digit, { in_trash: true });
    const everything = await create(body());
    assert.deepEqual(names(await everything.documents()), ['Home']);
    const selections = [
      { page_ids: [notionId('1')], expected: ['Home'] },
      { page_ids: [notionId('4')], expected: [] },
      { database_ids: [notionId('d')], expected: [] },
    ];
    for (const { expected, ...selection } of selections) {
      assert.deepEqual(names(await (await create(body(selection))).documents()), expected);
    }
    for (const digit of trashed) change(digit, { in_trash: false });
    await everything.sync();
    assert.deepEqual(names(await everything.documents()), ['Below', 'Elsewhere', 'Home', 'Row']);
    change('1', { in_trash: true });
    await everything.sync();
    assert.deepEqual(names(await everything.documents()), ['Below', 'Elsewhere', 'Row']);
    change('1', { in_trash: false });
  });

  it('reads all data sources of a database, code with its language and bookmarks with their address', async () => {
    const ids = ['11', '22'].map((digits) => notionId('5').replace(/^55/, digits));
    workspace.databases.set(notionId('5'), { ...page('Two', under('1')), sources: ids });
    for (const [index, id] of ids.entries()) {
      const parent = { type: 'data_source_id', data_source_id: id, database_id: notionId('5') };
      workspace.pages.set(id.replace(/^./, 'a'), page(`Row ${index}`, parent));
    }
    const [first = ''] = ids;
    workspace.blocks.set(first.replace(/^./, 'a'), [
      block('70', 'code', 'let `x` = "```";', { fields: { language: 'rust' } }),
      {
        id: '71',
        type: 'bookmark',
        has_children: false,
        bookmark: { url: 'https://example.com/a?b=(c)', caption: rich('The [guide]') },
      },
      { id: '72', type: 'link_preview', has_children: false, link_preview: { url: 'https://example.com/pr/1' } },
    ]);
    const rows = await create(body({ database_ids: [notionId('5')] }));
    assert.deepEqual(names(await rows.documents()), ['Row 0', 'Row 1']);
    const [found] = await rows.find('guide');
    for (const part of ['~~~~rust', '(<https://example.com/a?b=(c)>)', '<https://example.com/pr/1>']) {
      assert.ok(found.text.includes(part), `${part} in ${found.text}`);
    }
    const below = await create(body({ page_ids: [notionId('1')] }));
    assert.deepEqual(names(await below.documents()), ['Below', 'Home', 'Row', 'Row 0', 'Row 1']);
    for (const id of ids) workspace.pages.delete(id.replace(/^./, 'a'));
    workspace.databases.delete(notionId('5'));
  });

  it('a parent that the API rejects does not end the sync of other pages', async () => {
    const hidden = { type: 'block_id', block_id: notionId('6') };
    workspace.pages.set(notionId('7'), page('Orphan', hidden));
    workspace.rejected.add(`/v1/blocks/${notionId('6')}`);
    const below = await create(body({ page_ids: [notionId('1')] }));
    assert.deepEqual([below.first.status, names(await below.documents())], ['completed', ['Below', 'Home', 'Row']]);
    workspace.rejected.clear();
    workspace.pages.delete(notionId('7'));
  });

  it('reads a page again that was edited within the precision of Notion', async () => {
    const source = await create(body({ page_ids: [notionId('4')] }));
    change('4', { last_edited_time: new Date().toISOString() });
    assert.deepEqual(counts(await source.sync()), [0, 1, 0, 0]);
    const { now } = api.deps;
    api.deps.now = () => Date.now() + 180_000;
    assert.deepEqual(counts(await source.sync()), [0, 1, 0, 0], 'after the precision, once more');
    api.deps.now = now;
    change('4', { last_edited_time: '2026-01-03T00:00:00.000Z' });
    assert.deepEqual(counts(await source.sync()), [0, 1, 0, 0]);
    assert.deepEqual(counts(await source.sync()), [0, 0, 0, 1]);
  });

  it('400 for rejected tokens, and pages that were not shared with the integration', async () => {
    assertError(
      await probe(body({ credentials: { integration_token: 'wrong' } })),
      400,
      'invalid_value',
      'config.credentials',
    );
    assertError(await probe(body({ page_ids: [notionId('0')] })), 400, 'invalid_value', 'config');
    workspace.faults = [503];
    assertError(await probe(body()), 400, 'invalid_value', 'config');
  });
});
