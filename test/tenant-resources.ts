import assert from 'node:assert/strict';
import { alerts } from '../src/alerts/tables.ts';
import { documents } from '../src/knowledge-bases/documents/tables.ts';
import type { Scope } from '../src/lib/caller.ts';
import { newId } from '../src/lib/ids.ts';
import { encodeForm, sendForm } from './forms.ts';
import type { Answer, TestApi } from './harness.ts';
import { openUserSession } from './support/open-session.ts';

/** Ids of one organization, by the name of the path parameter that takes them. */
export interface TenantResources {
  key: string;
  kb_id: string;
  ds_id: string;
  document_id: string;
  job_id: string;
  file_id: string;
  batch_id: string;
  response_id: string;
  conversation_id: string;
  chat_id: string;
  /** A message of the chat. */
  message_id: string;
  /** A document of the chat. */
  attachment_id: string;
  /** The link of the chat. */
  share_id: string;
  /** The folder of the chat. */
  folder: string;
  preset_id: string;
  prompt_id: string;
  policy_id: string;
  /** A registered MCP server. */
  server_id: string;
  key_id: string;
  organization_id: string;
  /** An item of the response and of the conversation. */
  item_id: string;
  /** The request that created the response. */
  request_id: string;
  /** A file of the purpose `batch`. */
  batch_file_id: string;
  question_set_id: string;
  evaluation_id: string;
  /** A store with the file. */
  vector_store_id: string;
  file_batch_id: string;
  alert_id: string;
  channel_id: string;
  budget_id: string;
}

const SCOPES: Scope[] = ['inference', 'files', 'knowledge', 'guardrails', 'keys'];
/** A channel for alerts. */
const WEBHOOK = { type: 'webhook', name: 'Pager', url: 'https://hooks.example/' };

/** A line of a batch. */
const LINE = {
  custom_id: 'a',
  method: 'POST',
  url: '/v1/chat/completions',
  body: { model: 'general-8b', messages: [] },
};

/** Creates one resource of each kind in a new organization. */
export async function createResources(api: TestApi, organization: string): Promise<TenantResources> {
  const { key, id: key_id, organizationId: organization_id } = await api.makeKey({ organization, scopes: SCOPES });
  const create = async (path: string, body: object): Promise<string> => {
    const { status, json, text } = await api.send('POST', path, { key, body });
    assert.equal(status, 200, `${path}: ${text}`);
    return json.id;
  };
  const file_id = await upload(api, key, 'knowledge-base', 'Some text.');
  const batch_file_id = await upload(api, key, 'batch', JSON.stringify(LINE));
  const kb_id = await create('/v1/knowledge-bases', { name: 'Base' });
  const ds_id = await create(`/v1/knowledge-bases/${kb_id}/data-sources`, fileSource(file_id));
  const conversation_id = await create('/v1/conversations', {});
  const question = { model: 'general-8b', input: 'Hello', conversation: conversation_id };
  const response = await api.send('POST', '/v1/responses', { key, body: question });
  const jobs = await api.send('GET', `/v1/knowledge-bases/${kb_id}/ingestion-jobs`, { key });
  const questions = [{ question: 'When?', answer: 'nine' }];
  const vector_store_id = await create('/v1/vector_stores', { file_ids: [file_id] });
  return {
    key,
    kb_id,
    ds_id,
    job_id: jobs.json.data[0].id,
    document_id: await insertDocument(api, { kb_id, ds_id }),
    file_id,
    batch_file_id,
    batch_id: await create('/v1/batches', {
      input_file_id: batch_file_id,
      endpoint: LINE.url,
      completion_window: '24h',
    }),
    question_set_id: await create(`/v1/knowledge-bases/${kb_id}/question-sets`, { name: 'Set', questions }),
    evaluation_id: await create(`/v1/knowledge-bases/${kb_id}/evaluations`, { questions }),
    vector_store_id,
    file_batch_id: await create(`/v1/vector_stores/${vector_store_id}/file_batches`, { file_ids: [file_id] }),
    response_id: response.json.id,
    request_id: await loggedRequest(api, response),
    conversation_id,
    ...(await createChat(create, (chatId) => attach(api, key, chatId))),
    item_id: response.json.output[0].id,
    key_id,
    organization_id,
    preset_id: await createPreset(api, organization_id),
    prompt_id: await create('/v1/prompts', { name: 'Prompt', text: 'Text' }),
    channel_id: await create('/v1/alert-channels', WEBHOOK),
    budget_id: await create('/v1/budgets', { name: 'Team', amount_micros: 1 }),
    alert_id: await insertAlert(api, organization_id),
    policy_id: await create('/v1/guardrail-policies', { name: 'Policy', enabled: false }),
    server_id: await create('/v1/mcp-servers', { label: `tools_${kb_id.slice(-8)}`, url: 'https://mcp.example/' }),
  };
}

/** A chat in a folder, with a document, a message and a link. */
async function createChat(
  create: (path: string, body: object) => Promise<string>,
  attachTo: (chatId: string) => Promise<string>,
) {
  const folder = `Folder ${newId('chat')}`;
  const chat_id = await create('/v1/chats', { folder });
  const attachment_id = await attachTo(chat_id);
  const message_id = await create(`/v1/chats/${chat_id}/messages`, { model: 'general-8b', text: 'Hello' });
  return { chat_id, attachment_id, message_id, share_id: await create(`/v1/chats/${chat_id}/share`, {}), folder };
}

/** Owners manage presets, and keys do not. */
async function createPreset(api: TestApi, organizationId: string): Promise<string> {
  const owner = await openUserSession(api, [organizationId]);
  return (await owner.send('POST', '/v1/chat-presets', { name: 'Preset', published: true })).json.id;
}

const fileSource = (id: string) => ({ type: 'file_upload', name: 'Files', config: { file_ids: [id] } });

/** The id of a request once the request log has it. */
async function loggedRequest(api: TestApi, { headers }: Answer): Promise<string> {
  await api.requestLog.flush();
  return headers.get('x-request-id') ?? '';
}

async function upload(api: TestApi, key: string, purpose: string, content: string): Promise<string> {
  const filename = purpose === 'batch' ? 'a.jsonl' : 'a.txt';
  const form = encodeForm([
    { name: 'purpose', content: purpose },
    { name: 'file', filename, content },
  ]);
  const { status, json, text } = await sendForm(`${api.url}/v1/files`, form, { key });
  assert.equal(status, 200, text);
  return json.id;
}

async function attach(api: TestApi, key: string, chatId: string): Promise<string> {
  const form = encodeForm([{ name: 'file', filename: 'b.txt', content: 'Some text.' }]);
  const { status, json, text } = await sendForm(`${api.url}/v1/chats/${chatId}/attachments`, form, { key });
  assert.equal(status, 200, text);
  return json.id;
}

/** The evaluation of the worker opens alerts. */
async function insertAlert({ db }: TestApi, organizationId: string): Promise<string> {
  const id = newId('alert');
  const details = {
    error: 'x',
    models: null,
    since: null,
    threshold_percent: null,
    amount_micros: null,
    is_enforced: null,
  };
  const cause = { kind: 'sync_failed' as const, subject: id, name: 'Wiki', path: '/', details };
  await db.sql.insert(alerts).values({ id, organizationId, ...cause, createdAt: new Date() });
  return id;
}

/** Ingestion would need a worker. */
async function insertDocument(api: TestApi, { kb_id, ds_id }: { kb_id: string; ds_id: string }): Promise<string> {
  const id = newId('document');
  const now = new Date();
  const { organization_id } = (
    await api.db.execute('select organization_id from knowledge_bases where id = $1', [kb_id])
  ).rows[0] as { organization_id: string };
  await api.db.sql.insert(documents).values({
    id,
    knowledgeBaseId: kb_id,
    dataSourceId: ds_id,
    organizationId: organization_id,
    itemKey: 'a',
    part: '',
    fingerprint: '',
    seenBy: '',
    name: 'a.txt',
    sourceType: 'file_upload',
    bytes: 1,
    chunkCount: 0,
    status: 'completed',
    metadata: {},
    language: 'en',
    createdAt: now,
    updatedAt: now,
  });
  return id;
}

/** Rows of an organization by the name of the table; only tables with rows. */
export async function countRows({ db }: TestApi, organizationId: string): Promise<Record<string, number>> {
  const { rows: tables } = await db.execute(
    "select table_name from information_schema.columns where column_name = 'organization_id' and table_schema = 'public' order by 1",
  );
  const counts: Record<string, number> = {};
  for (const { table_name: table } of tables as { table_name: string }[]) {
    const { rows } = await db.execute(`select count(*)::int as n from ${table} where organization_id = $1`, [
      organizationId,
    ]);
    const { n } = rows[0] as { n: number };
    if (n > 0) counts[table] = n;
  }
  return counts;
}
