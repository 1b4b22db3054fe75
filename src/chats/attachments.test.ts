import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { withDeadline } from '../../test/deadline.ts';
import { embeddedBy, recordingEmbedder } from '../../test/embedder.ts';
import { encodePng } from '../../test/fixtures/scans.ts';
import { encodeForm, sendForm } from '../../test/forms.ts';
import { type Answer, assertError, assertSchema, useApi } from '../../test/harness.ts';
import { plainExtractor } from '../../test/ingestion.ts';
import { calls, chatPromptOf, playTurns, says } from '../../test/response-turns.ts';
import { AWKWARD_TEXTS } from '../../test/support/awkward.ts';
import { openUserSession, type SignedIn } from '../../test/support/open-session.ts';
import { CHECK_FILE } from '../files/check-job.ts';
import { ATTACHMENT_EXTENSIONS } from '../files/formats.ts';
import { openSource } from '../knowledge-bases/data-sources/source-config.ts';
import { ingestSource } from '../knowledge-bases/ingestion/ingest-source.ts';
import { INGEST_SOURCE } from '../knowledge-bases/jobs/ingest-job.ts';
import { FairSemaphore } from '../lib/fair-semaphore.ts';
import { RUN_RESPONSE, runBackground } from '../responses/run-background.ts';
import { purgeChats } from '../retention/purge-chats.ts';
import { ChatAttachment, MAX_ATTACHED_IMAGE_BYTES, MAX_ATTACHMENTS, MAX_CHAT_BYTES } from './attachment-schema.ts';

const MODEL = 'general-8b';
const BLIND = 'general-70b';
const PNG = encodePng({ width: 2, height: 2, pixels: Buffer.alloc(4, 200) });
const NAME = "Harbour's fees, 100%.txt";
const UNKNOWN = '01kaj3v0b8s4x2m6n9p1q5r7t3';
const { signal } = new AbortController();

const engine = recordingEmbedder();
after(() => engine.close());
const bound = embeddedBy(engine);
const api = useApi({
  jobs: [INGEST_SOURCE, CHECK_FILE, RUN_RESPONSE],
  models: (generation) =>
    (bound.models?.(generation) ?? []).map((model) =>
      model.id === MODEL ? { ...model, capabilities: { ...model.capabilities, vision: true } } : model,
    ),
});
let ada: SignedIn;
let ben: SignedIn;
let foreign: SignedIn;
let organizationId: string;

const create = async (user = ada): Promise<string> => (await user.send('POST', '/v1/chats', {})).json.id;
const attach = (
  chatId: string,
  filename: string,
  content: string | Uint8Array,
  { user = ada, headers = {} as Record<string, string> } = {},
): Promise<Answer> =>
  sendForm(`${api.url}/v1/chats/${chatId}/attachments`, encodeForm([{ name: 'file', filename, content }]), {
    key: null,
    headers: { ...user.headers, ...headers },
  });
const rowsOf = async (query: string, ...values: unknown[]) =>
  (await api.db.execute(query, values)).rows as Record<string, string>[];
const baseOf = async (chatId: string): Promise<string> =>
  (await rowsOf('select attachment_base_id as id from chats where id = $1', chatId))[0]?.['id'] ?? '';
/** Runs the queued jobs of a chat. */
const ingest = async (chatId: string) => {
  const query = "select id from ingestion_jobs where knowledge_base_id = $1 and status = 'queued' order by id";
  const deps = {
    ...api.deps,
    ...{ extractor: plainExtractor, renderer: null, archives: null },
    itemSemaphore: new FairSemaphore({ total: 4, perGroup: 3 }),
    openSource: (source: Parameters<typeof openSource>[1]) => openSource(api.deps, source),
  };
  for (const { id } of await rowsOf(query, await baseOf(chatId))) await ingestSource(deps, id ?? '', signal);
};
const list = async (chatId: string): Promise<ChatAttachment[]> =>
  (await ada.send('GET', `/v1/chats/${chatId}/attachments`)).json.data;
const post = (chatId: string, body: object, user = ada) =>
  user.send('POST', `/v1/chats/${chatId}/messages`, { model: MODEL, text: 'When?', ...body });
/** Sends a message, and returns it when its answer has ended. */
const ask = async (chatId: string, body: object) => {
  const sent = await post(chatId, body);
  assert.equal(sent.status, 200, sent.text);
  const path = `/v1/chats/${chatId}/messages/${sent.json.id}`;
  await withDeadline('the answer', ada.send('GET', `${path}?stream=true`));
  return (await ada.send('GET', path)).json;
};
const lastPrompt = () => chatPromptOf(api.engine.calls.at(-1)!).messages;
/** Stored bytes of the organizations of this file. */
const blobs = () =>
  readdirSync(api.blobFolder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).length;

describe('attachments', () => {
  before(async () => {
    api.deps.jobs.work(RUN_RESPONSE, ({ responseId }, stop) => runBackground(api.deps, responseId, stop));
    ({ organizationId } = await api.makeKey({ organization: 'harbour' }));
    const other = await api.makeKey({ organization: 'other' });
    ada = await openUserSession(api, [organizationId], { role: 'viewer' });
    ben = await openUserSession(api, [organizationId]);
    foreign = await openUserSession(api, [other.organizationId]);
  });

  describe('documents of a chat', () => {
    it('are searched by the chat after their ingestion, and named by its messages', async () => {
      const id = await create();
      const { json, status, text } = await attach(id, NAME, 'A mooring costs 310 euros.');
      assert.equal(status, 200, text);
      assertSchema(ChatAttachment, json);
      assert.deepEqual([json.kind, json.status, json.name], ['document', 'processing', NAME]);
      const early = await post(id, { attachment_ids: [json.id] });
      assertError(early, 400, 'invalid_value', 'attachment_ids.0');
      assert.match(early.json.error.message, /still being processed/);
      await ingest(id);
      assert.deepEqual(await list(id), [{ ...json, status: 'ready' }]);
      playTurns(api.engine, calls(['file_search', { query: 'mooring' }]), says('310 euros.'));
      const message = await ask(id, { text: 'What is the price?', attachment_ids: [json.id, json.id] });
      const sent = { id: json.id, kind: 'document', name: json.name, bytes: 26 };
      assert.deepEqual(message.attachments, [sent]);
      assert.deepEqual(
        message.response.output[0].results.map((result: { text: string; filename: string }) => [
          result.text,
          result.filename,
        ]),
        [['A mooring costs 310 euros.', json.name]],
      );
      assert.match(String(lastPrompt()[0]?.content), /file_search searches: Harbour's fees, 100%\.txt$/);
      playTurns(api.engine, says('Yes.'));
      await ask(id, { text: 'Sure?', parent_id: message.id });
      assert.equal(
        chatPromptOf(api.engine.calls.at(-1)!).tools[0]?.function.name,
        'file_search',
        'later messages, too',
      );
      const markdown = (await ada.send('GET', `/v1/chats/${id}/export?format=markdown`)).text;
      assert.match(markdown, /What is the price\?\n\nAttached: Harbour's fees, 100%\.txt\n/);
      const exported = (await ada.send('GET', `/v1/chats/${id}/export`)).json;
      assert.deepEqual(exported.messages[0].attachments, [sent]);
    });

    it('say why they cannot be read, and are not sent', async () => {
      const id = await create();
      const { json } = await attach(id, 'a.txt', '!broken');
      await ingest(id);
      const [failed] = await list(id);
      assert.deepEqual([failed?.status, failed?.error?.message], ['failed', 'It cannot be read.']);
      const rejected = await post(id, { attachment_ids: [json.id] });
      assertError(rejected, 400, 'invalid_value', 'attachment_ids.0');
      assert.match(rejected.json.error.message, /could not be read: It cannot be read/);
    });

    it('show how many pages are read', async () => {
      const id = await create();
      await attach(id, 'a.txt', 'text');
      const reading = JSON.stringify([{ document: 'a.txt', page: 18, pages: 44 }]);
      const base = await baseOf(id);
      await api.db.execute(
        "update ingestion_jobs set status = 'processing', reading = $2::jsonb where knowledge_base_id = $1",
        [base, reading],
      );
      assert.deepEqual((await list(id))[0]?.progress, { document: 'a.txt', page: 18, pages: 44 });
    });

    it('are in a knowledge base that others do not find, and that only the chat changes', async () => {
      const id = await create();
      await attach(id, 'a.txt', 'The ferry leaves at noon.');
      await ingest(id);
      const base = await baseOf(id);
      const [{ file_id: file = '' } = {}] = await rowsOf('select file_id from chat_attachments where chat_id = $1', id);
      const path = `/v1/knowledge-bases/${base}`;
      const query = { query: 'ferry', search_type: 'keyword' };
      assert.equal((await ada.send('GET', path)).status, 200);
      const [document] = (await ada.send('GET', `${path}/documents`)).json.data;
      assert.equal((await ada.send('GET', `${path}/documents/${document.id}/chunks`)).json.data.length, 1);
      const { key } = await api.makeKey({ organization: 'harbour' });
      assertError(await api.send('GET', path, { key }), 404, 'knowledge_base_not_found', 'kb_id');
      for (const user of [ben, foreign]) {
        for (const url of [
          path,
          `${path}/documents`,
          `${path}/documents/${document.id}/pages/1`,
          `${path}/ingestion-jobs`,
        ])
          assertError(await user.send('GET', url), 404, 'knowledge_base_not_found', 'kb_id');
        assertError(await user.send('POST', `${path}/retrieve`, query), 404, 'knowledge_base_not_found', 'kb_id');
        assert.equal((await user.send('GET', `/v1/files/${file}/content`)).status, 404);
        assert.equal((await user.send('DELETE', `/v1/files/${file}`)).status, 404);
        assert.equal((await user.send('GET', `/v1/vector_stores/${base.replace('kb_', 'vs_')}`)).status, 404);
        const input = {
          model: MODEL,
          input: 'Hi',
          tools: [{ type: 'file_search', file_search: { knowledge_base_ids: [base] } }],
        };
        assert.equal((await user.send('POST', '/v1/responses', input)).status, 404);
      }
      for (const user of [ada, ben, foreign])
        for (const url of ['/v1/knowledge-bases', '/v1/vector_stores', '/v1/files'])
          assert.deepEqual((await user.send('GET', url)).json.data, [], `${url} of ${user.id}`);
      const owner = await openUserSession(api, [organizationId]);
      await api.db.execute('update chats set owner_id = $1 where id = $2', [owner.id, id]);
      await api.db.execute('update knowledge_bases set private_to = $1 where id = $2', [owner.id, base]);
      await api.db.execute('update files set private_to = $1 where id = $2', [owner.id, file]);
      assert.equal((await owner.send('POST', `${path}/retrieve`, query)).json.results.length, 1);
      assert.equal((await owner.send('DELETE', path)).status, 404);
      assert.equal((await owner.send('PATCH', path, { name: 'Mine' })).status, 404);
      assert.equal((await owner.send('POST', `${path}/documents`, { key: 'a', text: 'b' })).status, 404);
      assert.equal((await owner.send('DELETE', `/v1/files/${file}`)).status, 404);
      const sources = { type: 'file_upload', config: { file_ids: [file] } };
      const { json: shared } = await owner.send('POST', '/v1/knowledge-bases', { name: 'Shared' });
      const reused = await owner.send('POST', `/v1/knowledge-bases/${shared.id}/data-sources`, sources);
      assertError(reused, 404, 'file_not_found', 'config.file_ids.0');
      await owner.send('DELETE', `/v1/knowledge-bases/${shared.id}`);
      const elsewhere = await post(await create(owner), { knowledge_base_ids: [base] }, owner);
      assertError(elsewhere, 404, 'knowledge_base_not_found', 'knowledge_base_ids.0');
    });

    it('end with their attachment, whose name its message keeps', async () => {
      const id = await create();
      const first = (await attach(id, 'a.txt', 'The ferry leaves at noon.')).json;
      await attach(id, 'b.txt', 'The ferry has a bar.');
      await ingest(id);
      playTurns(api.engine, says('Noon.'));
      const message = await ask(id, { attachment_ids: [first.id] });
      const before = blobs();
      const path = `/v1/chats/${id}/attachments/${first.id}`;
      assert.deepEqual((await ada.send('DELETE', path)).json, {
        id: first.id,
        object: 'chat.attachment',
        deleted: true,
      });
      assertError(await ada.send('DELETE', path), 404, 'chat_attachment_not_found', 'attachment_id');
      assert.equal(blobs(), before - 1);
      const { json } = await ada.send('GET', `/v1/knowledge-bases/${await baseOf(id)}/documents`);
      assert.deepEqual(
        json.data.map(({ name }: { name: string }) => name),
        ['b.txt'],
      );
      assert.deepEqual(
        (await ada.send('GET', `/v1/chats/${id}/messages/${message.id}`)).json.attachments,
        message.attachments,
      );
      assertError(await post(id, { attachment_ids: [first.id] }), 404, 'chat_attachment_not_found', 'attachment_ids.0');
    });

    it('end with the chat: by its owner, by the retention, and when the owner leaves', async () => {
      const attached = async () => {
        const id = await create();
        await attach(id, 'a.txt', 'The ferry leaves at noon.');
        await attach(id, 'a.png', PNG);
        return { id, base: await baseOf(id) };
      };
      const before = blobs();
      const isGone = async ({ id, base }: { id: string; base: string }) => {
        for (const [table, column, value] of [
          ['knowledge_bases', 'id', base],
          ['data_sources', 'knowledge_base_id', base],
          ['ingestion_jobs', 'knowledge_base_id', base],
          ['chat_attachments', 'chat_id', id],
        ])
          assert.deepEqual(await rowsOf(`select 1 from ${table} where ${column} = $1`, value), [], table);
        assert.deepEqual(await rowsOf('select 1 from dropped_indexes where knowledge_base_id = $1', base), [
          { '?column?': 1 },
        ]);
        assert.equal(blobs(), before);
        assert.ok(!existsSync(`${api.indexFolder}/${base}.lance`));
      };
      const deleted = await attached();
      await ingest(deleted.id);
      assert.equal((await ada.send('DELETE', `/v1/chats/${deleted.id}`)).status, 200);
      await isGone(deleted);
      const queued = await attached();
      const files = 'select 1 from file_uses u join files f on f.id = u.file_id where f.private_to = $1';
      await api.db.execute('insert into chat_settings (organization_id, retention_days) values ($1, 1)', [
        organizationId,
      ]);
      await api.db.execute("update chats set updated_at = now() - interval '2 days' where id = $1", [queued.id]);
      await purgeChats(api.deps, signal);
      await isGone(queued);
      assert.deepEqual(await rowsOf(files, ada.id), []);
      await api.db.execute('delete from chat_settings where organization_id = $1', [organizationId]);
      const left = await attached();
      await api.db.execute("update chats set owner_id = 'user_' || $2 where id = $1", [left.id, UNKNOWN]);
      await purgeChats(api.deps, signal);
      await isGone(left);
    });

    it('leave nothing when the transaction fails', async () => {
      const id = await create();
      const before = [
        blobs(),
        await rowsOf('select count(*) from files'),
        await rowsOf('select count(*) from knowledge_bases'),
      ];
      const { enqueue } = api.deps.jobs;
      api.deps.jobs.enqueue = async () => {
        throw new Error('the queue fails');
      };
      try {
        assert.equal((await attach(id, 'a.txt', 'text')).status, 500);
      } finally {
        api.deps.jobs.enqueue = enqueue;
      }
      const now = [
        blobs(),
        await rowsOf('select count(*) from files'),
        await rowsOf('select count(*) from knowledge_bases'),
      ];
      assert.deepEqual(now, before);
      assert.deepEqual([await list(id), await baseOf(id)], [[], '']);
    });
  });

  describe('images of a chat', () => {
    it('are sent to models with vision, with their message and with later messages of the branch', async () => {
      const id = await create();
      const { json } = await attach(id, 'chart.PNG', PNG);
      assertSchema(ChatAttachment, json);
      assert.deepEqual([json.kind, json.status, await baseOf(id)], ['image', 'ready', '']);
      playTurns(api.engine, says('A chart.'));
      const message = await ask(id, { text: 'What is it?', attachment_ids: [json.id] });
      const url = `data:image/png;base64,${PNG.toString('base64')}`;
      assert.deepEqual(lastPrompt(), [{ role: 'user', content: 'What is it?', images: [{ at: 0, url }] }]);
      const stored = await rowsOf('select conversation, job from responses where id = $1', message.id);
      assert.ok(!JSON.stringify(stored).includes('base64'), 'bytes are stored once');
      await ask(id, { text: 'Really?', parent_id: message.id });
      assert.deepEqual(lastPrompt()[0]?.images, [{ at: 0, url }]);
      await ask(id, { text: 'And in short?', parent_id: message.id, model: BLIND });
      assert.deepEqual(
        lastPrompt().map((each) => [each.content, each.images]),
        [
          ['What is it?', undefined],
          ['A chart.', undefined],
          ['And in short?', undefined],
        ],
      );
      await ada.send('DELETE', `/v1/chats/${id}/attachments/${json.id}`);
      await ask(id, { text: 'Still there?', parent_id: message.id });
      assert.equal(lastPrompt()[0]?.images, undefined, 'deleted');
    });

    it('are rejected for a model that reads text only, and when they are no image', async () => {
      const id = await create();
      const { json } = await attach(id, 'a.png', PNG);
      const rejected = await post(id, { attachment_ids: [json.id], model: BLIND });
      assertError(rejected, 400, 'invalid_value', 'attachment_ids.0');
      assert.match(rejected.json.error.message, /reads text only/);
      for (const name of ['a.gif', 'a.jpg', 'a.webp'])
        assertError(await attach(id, name, PNG), 400, 'invalid_value', 'file');
      for (const [name, content] of [
        ['a.gif', Buffer.from('GIF89a more')],
        ['a.jpeg', Buffer.from('ffd8ffe000104a464946', 'hex')],
      ] as const)
        assert.equal((await attach(id, name, content)).json.kind, 'image', name);
      const form = encodeForm([
        { name: 'purpose', content: 'knowledge-base' },
        { name: 'file', filename: 'a.gif', content: 'GIF89a more' },
      ]);
      const upload = await sendForm(`${api.url}/v1/files`, form, { key: api.key });
      assertError(upload, 400, 'invalid_value', 'file');
    });

    it('are downloaded by their owner', async () => {
      const id = await create();
      const { json } = await attach(id, 'a.png', PNG);
      const path = `/v1/chats/${id}/attachments/${json.id}/content`;
      const { status, headers } = await ada.send('GET', path);
      assert.deepEqual(
        [status, headers.get('content-type'), headers.get('content-length')],
        [200, 'image/png', String(PNG.length)],
      );
      assert.match(headers.get('content-disposition') ?? '', /^attachment; filename="a\.png"/);
      assertError(await ben.send('GET', path), 404, 'chat_not_found', 'chat_id');
    });
  });

  describe('POST /v1/chats/{chat_id}/attachments', () => {
    it('stores a file once for an Idempotency-Key', async () => {
      const id = await create();
      const headers = { 'idempotency-key': `k-${id}` };
      const first = await attach(id, 'a.txt', 'text', { headers });
      assert.deepEqual((await attach(id, 'a.txt', 'text', { headers })).json, first.json);
      assert.equal((await list(id)).length, 1);
      assertError(await attach(id, 'a.txt', 'other', { headers }), 409, 'idempotency_conflict');
    });

    it('413 for an image above its limit, 400 for too many files or bytes, which stores nothing', async () => {
      const id = await create();
      const image = (bytes: number) => Buffer.concat([PNG, Buffer.alloc(bytes - PNG.length)]);
      assertError(await attach(id, 'a.png', image(MAX_ATTACHED_IMAGE_BYTES + 1)), 413, 'file_too_large', 'file');
      assert.equal((await attach(id, 'a.png', image(MAX_ATTACHED_IMAGE_BYTES))).status, 200);
      const before = blobs();
      const [{ id: file = '' } = {}] = await rowsOf(
        'select file_id as id from chat_attachments where chat_id = $1',
        id,
      );
      await api.db.execute('update files set bytes = $2 where id = $1', [file, MAX_CHAT_BYTES - 4]);
      assertError(await attach(id, 'a.txt', 'fives'), 400, 'invalid_value', 'file');
      assert.deepEqual([blobs(), (await list(id)).length], [before, 1]);
      assert.equal((await attach(id, 'a.txt', 'four')).status, 200);
      await api.db.execute('update files set bytes = 1 where id = $1', [file]);
      const more = `insert into chat_attachments (id, chat_id, file_id, created_at)
      select 'att_' || n, $1, $2, now() from generate_series(3, $3::int) n`;
      await api.db.execute(more, [id, file, MAX_ATTACHMENTS - 1]);
      assert.equal((await attach(id, 'a.txt', 'text')).status, 200);
      assertError(await attach(id, 'a.txt', 'text'), 400, 'invalid_value', 'file');
    });

    it('returns 400, 401, 403 and 404 for invalid requests', async () => {
      const id = await create();
      for (const [name, content] of [
        ['a.exe', 'text'],
        ['a.txt', ''],
        ['', 'text'],
        ['a.pdf', 'text'],
      ] as const)
        assertError(await attach(id, name, content), 400, 'invalid_value', 'file');
      const { error } = (await attach(id, 'a.exe', 'text')).json;
      const listed = error.message.match(/\.\w+\b/g);
      assert.deepEqual(listed, ATTACHMENT_EXTENSIONS, 'every accepted name is listed');
      const url = `${api.url}/v1/chats/${id}/attachments`;
      const headers = ada.headers;
      assertError(await sendForm(url, encodeForm([]), { key: null, headers }), 400, 'missing_required_field', 'file');
      assert.equal(
        (await sendForm(url, Buffer.from('{}'), { key: null, headers, contentType: 'application/json' })).status,
        415,
      );
      assert.equal((await sendForm(url, encodeForm([]), { key: null })).status, 401);
      const { key } = await api.makeKey({ organization: 'narrow', scopes: ['inference'] });
      const chat = (await api.send('POST', '/v1/chats', { key, body: {} })).json.id;
      const form = (filename: string, content: string | Uint8Array) =>
        encodeForm([{ name: 'file', filename, content }]);
      const narrow = `${api.url}/v1/chats/${chat}/attachments`;
      assertError(await sendForm(narrow, form('a.txt', 'text'), { key }), 403, 'insufficient_scope', 'file');
      assert.equal((await sendForm(narrow, form('a.png', PNG), { key })).status, 200);
      for (const user of [ben, foreign]) {
        assertError(await attach(id, 'a.txt', 'text', { user }), 404, 'chat_not_found', 'chat_id');
        assertError(await user.send('GET', `/v1/chats/${id}/attachments`), 404, 'chat_not_found', 'chat_id');
      }
      for (const text of [...AWKWARD_TEXTS, `att_${UNKNOWN}`]) {
        const answer = await post(id, { attachment_ids: [text] });
        assertError(answer, 404, 'chat_attachment_not_found', 'attachment_ids.0');
        if (text === '') continue;
        const path = `/v1/chats/${id}/attachments/${encodeURIComponent(text)}`;
        if (text.isWellFormed() && text.length < 100)
          assertError(await ada.send('DELETE', path), 404, 'chat_attachment_not_found', 'attachment_id');
      }
      const many = Array.from({ length: MAX_ATTACHMENTS + 1 }, () => `att_${UNKNOWN}`);
      assertError(await post(id, { attachment_ids: many }), 400, 'invalid_value', 'attachment_ids');
    });
  });
});
