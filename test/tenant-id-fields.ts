/** Fields of requests that have ids of resources, for the matrix of tenants. */
import type { TenantResources } from './tenant-resources.ts';

type Resource = keyof TenantResources;

/** The compared evaluations have not completed: 400, which no unknown id answers. */
export const COMPARE = 'GET /v1/knowledge-bases/:kb_id/evaluations/:evaluation_id/compare';

/** How a field of a body or query is sent. `url` and `body` get own ids, and the id to send. */
interface IdField {
  resource: Resource;
  url?: (own: TenantResources, id: string) => string;
  body?: (id: string) => object;
  /** Status of an unknown id; 404 unless given. */
  status?: number;
}

const CHAT = { model: 'general-8b', messages: [{ role: 'user', content: 'text' }] };
const fileSource = (id: string) => ({ type: 'file_upload', name: 'Files', config: { file_ids: [id] } });

/** Every field with an id, as `ROUTE field`. */
export const ID_FIELDS: Record<string, IdField> = {
  'POST /v1/budgets key_ids': {
    resource: 'key_id',
    body: (id) => ({ name: 'Team', amount_micros: 1, key_ids: [id] }),
    status: 400,
  },
  'PATCH /v1/budgets/:budget_id key_ids': {
    resource: 'key_id',
    url: ({ budget_id }) => `/v1/budgets/${budget_id}`,
    body: (id) => ({ key_ids: [id] }),
    status: 400,
  },
  'POST /v1/chat/completions knowledge_bases': {
    resource: 'kb_id',
    body: (id) => ({ ...CHAT, knowledge_bases: [id] }),
  },
  'POST /v1/responses previous_response_id': {
    resource: 'response_id',
    body: (id) => ({ model: 'general-8b', input: 'text', previous_response_id: id }),
    status: 400,
  },
  'POST /v1/responses conversation.id': {
    resource: 'conversation_id',
    body: (id) => ({ model: 'general-8b', input: 'text', conversation: { id } }),
  },
  'POST /v1/responses/input_tokens conversation.id': {
    resource: 'conversation_id',
    body: (id) => ({ model: 'general-8b', conversation: { id } }),
  },
  'POST /v1/conversations items.id': {
    resource: 'item_id',
    body: (id) => ({ items: [{ type: 'item_reference', id }] }),
    status: 400,
  },
  'POST /v1/conversations/:conversation_id/items items.id': {
    resource: 'item_id',
    url: ({ conversation_id }) => `/v1/conversations/${conversation_id}/items`,
    body: (id) => ({ items: [{ type: 'item_reference', id }] }),
    status: 400,
  },
  'POST /v1/responses input.id': {
    resource: 'item_id',
    body: (id) => ({ model: 'general-8b', input: [{ type: 'item_reference', id }] }),
    status: 400,
  },
  'POST /v1/responses tools.file_search.knowledge_base_ids': {
    resource: 'kb_id',
    body: (id) => ({
      model: 'general-8b',
      input: 'text',
      tools: [{ type: 'file_search', file_search: { knowledge_base_ids: [id] } }],
    }),
  },
  'POST /v1/responses tools.vector_store_ids': {
    resource: 'kb_id',
    body: (id) => ({
      model: 'general-8b',
      input: 'text',
      tools: [{ type: 'file_search', vector_store_ids: [id.replace('kb_', 'vs_')] }],
    }),
  },
  ...Object.fromEntries(
    ['POST /v1/responses', 'POST /v1/responses/input_tokens'].map((route): [string, IdField] => [
      `${route} prompt.id`,
      { resource: 'prompt_id', body: (id) => ({ model: 'general-8b', input: 'text', prompt: { id } }) },
    ]),
  ),
  ...Object.fromEntries(
    ['POST /v1/responses', 'POST /v1/responses/input_tokens'].map((route): [string, IdField] => [
      `${route} tools.connector_id`,
      {
        resource: 'server_id',
        body: (id) => ({
          model: 'general-8b',
          input: 'text',
          tools: [{ type: 'mcp', server_label: 'a', connector_id: id }],
        }),
      },
    ]),
  ),
  ...Object.fromEntries(
    ['input_tokens', 'compact'].flatMap((route): [string, IdField][] => [
      [
        `POST /v1/responses/${route} previous_response_id`,
        {
          resource: 'response_id',
          body: (id) => ({ model: 'general-8b', previous_response_id: id }),
          status: 400,
        },
      ],
      [
        `POST /v1/responses/${route} input.id`,
        {
          resource: 'item_id',
          body: (id) => ({ model: 'general-8b', input: [{ type: 'item_reference', id }] }),
          status: 400,
        },
      ],
    ]),
  ),
  ...Object.fromEntries(
    ['knowledge_base_ids', 'vector_store_ids'].map((field): [string, IdField] => [
      `POST /v1/responses/input_tokens tools.${field === 'vector_store_ids' ? '' : 'file_search.'}${field}`,
      {
        resource: 'kb_id',
        body: (id) => ({
          model: 'general-8b',
          input: 'text',
          tools: [
            {
              type: 'file_search',
              ...(field === 'vector_store_ids' ? { [field]: [id] } : { file_search: { [field]: [id] } }),
            },
          ],
        }),
      },
    ]),
  ),
  'POST /v1/chats preset_id': { resource: 'preset_id', body: (id) => ({ preset_id: id }) },
  'POST /v1/chats/:chat_id/messages preset_id': {
    resource: 'preset_id',
    url: ({ chat_id }) => `/v1/chats/${chat_id}/messages`,
    body: (id) => ({ model: 'general-8b', text: 'text', preset_id: id }),
  },
  'PATCH /v1/chats/:chat_id current_message_id': {
    resource: 'message_id',
    url: ({ chat_id }) => `/v1/chats/${chat_id}`,
    body: (id) => ({ current_message_id: id }),
  },
  'POST /v1/chats/:chat_id/messages parent_id': {
    resource: 'message_id',
    url: ({ chat_id }) => `/v1/chats/${chat_id}/messages`,
    body: (id) => ({ model: 'general-8b', text: 'text', parent_id: id }),
  },
  'POST /v1/chats/:chat_id/messages knowledge_base_ids': {
    resource: 'kb_id',
    url: ({ chat_id }) => `/v1/chats/${chat_id}/messages`,
    body: (id) => ({ model: 'general-8b', text: 'text', knowledge_base_ids: [id] }),
  },
  'POST /v1/chats/:chat_id/messages attachment_ids': {
    resource: 'attachment_id',
    url: ({ chat_id }) => `/v1/chats/${chat_id}/messages`,
    body: (id) => ({ model: 'general-8b', text: 'text', attachment_ids: [id] }),
  },
  'POST /v1/batches input_file_id': {
    resource: 'batch_file_id',
    body: (id) => ({ input_file_id: id, endpoint: '/v1/chat/completions', completion_window: '24h' }),
  },
  'POST /v1/knowledge-bases/:kb_id/data-sources config.file_ids': {
    resource: 'file_id',
    url: ({ kb_id }) => `/v1/knowledge-bases/${kb_id}/data-sources`,
    body: fileSource,
  },
  'PATCH /v1/knowledge-bases/:kb_id/data-sources/:ds_id config.file_ids': {
    resource: 'file_id',
    url: ({ kb_id, ds_id }) => `/v1/knowledge-bases/${kb_id}/data-sources/${ds_id}`,
    body: (id) => ({ config: { file_ids: [id] } }),
  },
  'POST /v1/knowledge-bases/:kb_id/documents file_id': {
    resource: 'file_id',
    url: ({ kb_id }) => `/v1/knowledge-bases/${kb_id}/documents`,
    body: (id) => ({ key: 'a', file_id: id }),
  },
  ...Object.fromEntries(
    (
      [
        ['file_id', 'file_id'],
        ['question_set_id', 'question_set_id'],
        ['baseline_id', 'evaluation_id'],
      ] as const
    ).map(([field, resource]): [string, IdField] => [
      `POST /v1/knowledge-bases/:kb_id/evaluations ${field}`,
      {
        resource,
        url: ({ kb_id }) => `/v1/knowledge-bases/${kb_id}/evaluations`,
        body: (id) => ({
          [field]: id,
          ...(field === 'baseline_id' && { questions: [{ question: 'When?', answer: 'nine' }] }),
        }),
      },
    ]),
  ),
  'POST /v1/vector_stores file_ids': { resource: 'file_id', body: (id) => ({ file_ids: [id] }) },
  'POST /v1/vector_stores/:vector_store_id/file_batches file_ids': {
    resource: 'file_id',
    url: ({ vector_store_id }) => `/v1/vector_stores/${vector_store_id}/file_batches`,
    body: (id) => ({ file_ids: [id] }),
  },
  'POST /v1/vector_stores/:vector_store_id/file_batches files.file_id': {
    resource: 'file_id',
    url: ({ vector_store_id }) => `/v1/vector_stores/${vector_store_id}/file_batches`,
    body: (id) => ({ files: [{ file_id: id }] }),
  },
  'POST /v1/vector_stores/:vector_store_id/files file_id': {
    resource: 'file_id',
    url: ({ vector_store_id }) => `/v1/vector_stores/${vector_store_id}/files`,
    body: (id) => ({ file_id: id }),
  },
  [`${COMPARE} baseline`]: {
    resource: 'evaluation_id',
    url: ({ kb_id, evaluation_id }, id) =>
      `/v1/knowledge-bases/${kb_id}/evaluations/${evaluation_id}/compare?baseline=${id}`,
  },
  'POST /v1/admin/keys knowledge_base_ids': { resource: 'kb_id', body: (id) => ({ knowledge_base_ids: [id] }) },
  'PATCH /v1/admin/keys/:key_id knowledge_base_ids': {
    resource: 'kb_id',
    url: ({ key_id }) => `/v1/admin/keys/${key_id}`,
    body: (id) => ({ knowledge_base_ids: [id] }),
  },
  'PUT /v1/key-policy knowledge_base_ids': {
    resource: 'kb_id',
    body: (id) => ({ enabled: true, knowledge_base_ids: [id] }),
  },
  'POST /v1/admin/keys organization_id': { resource: 'organization_id', body: (id) => ({ organization_id: id }) },
  'GET /v1/admin/keys organization_id': {
    resource: 'organization_id',
    url: (_own, id) => `/v1/admin/keys?organization_id=${id}`,
  },
  'POST /v1/knowledge-bases/:kb_id/data-sources/test config.file_ids': {
    resource: 'file_id',
    url: ({ kb_id }) => `/v1/knowledge-bases/${kb_id}/data-sources/test`,
    body: (id) => ({ type: 'file_upload', config: { file_ids: [id] } }),
  },
  'POST /v1/knowledge-bases/:kb_id/data-sources/test data_source_id': {
    resource: 'ds_id',
    url: ({ kb_id }) => `/v1/knowledge-bases/${kb_id}/data-sources/test`,
    body: (id) => ({ type: 'web_crawl', config: {}, data_source_id: id }),
  },
  'GET /v1/knowledge-bases/:kb_id/documents data_source_id': {
    resource: 'ds_id',
    url: ({ kb_id }, id) => `/v1/knowledge-bases/${kb_id}/documents?data_source_id=${id}`,
    // An unknown filter value selects nothing.
    status: 200,
  },
  'GET /v1/knowledge-bases/:kb_id/ingestion-jobs data_source_id': {
    resource: 'ds_id',
    url: ({ kb_id }, id) => `/v1/knowledge-bases/${kb_id}/ingestion-jobs?data_source_id=${id}`,
    status: 200,
  },
};

const PRESETS = 'only owners manage presets; `src/chat-presets/chat-presets.test.ts` tries foreign ids';

/** Fields that are not ids of an organization's resources, as `field` or `ROUTE field`, with the reason. */
export const EXEMPT_FIELDS: Record<string, string> = {
  'PATCH /v1/session organization_id': 'only sessions have one; `src/users/users.test.ts` tries foreign ids',
  'POST /v1/own-keys knowledge_base_ids': 'only users have own keys; checked as those of `POST /v1/admin/keys`',
  ...Object.fromEntries(
    ['POST /v1/chat-presets', 'PATCH /v1/chat-presets/:preset_id'].flatMap((route) => [
      [`${route} knowledge_base_ids`, PRESETS],
      [`${route} tools.server_id`, PRESETS],
    ]),
  ),
  'messages.tool_calls.id': 'chosen by the caller',
  'messages.tool_call_id': 'chosen by the caller',
  'input.tool_calls.id': 'chosen by the caller',
  'input.tool_call_id': 'chosen by the caller',
  'input.call_id': 'chosen by the caller',
  'input.caller.caller_id': 'chosen by the caller; nothing is looked up',
  'input.results.file_id': 'repeated as it was sent; nothing is looked up',
  'items.caller.caller_id': 'as `input.caller.caller_id`',
  'items.results.file_id': 'as `input.results.file_id`',
  'input.approval_request_id': 'names an item of the same conversation; `previous_response_id` is tried',
  'items.approval_request_id': 'as `input.approval_request_id`',
  'items.tool_calls.id': 'chosen by the caller',
  'items.tool_call_id': 'chosen by the caller',
  'items.call_id': 'chosen by the caller',
  'messages.content.id': 'chosen by the caller',
  'messages.content.tool_use_id': 'chosen by the caller',
  'GET /v1/models (anthropic) after_id': 'models are the same for all organizations',
  'GET /v1/models (anthropic) before_id': 'as `after_id`',
  'config.credentials.access_key_id': 'id of another service',
  'config.page_ids': 'id of another service',
  'config.database_ids': 'id of another service',
  'config.folder_ids': 'id of another service',
  'GET /v1/knowledge-bases/:kb_id/documents/:document_id/pages/:page chunk_id':
    'a chunk of the document; `src/knowledge-bases/pages/pages.slow.test.ts` tries those of others',
  'GET /v1/usage key_id': 'a filter within the organization; a foreign key has no rows there',
  'GET /v1/guardrail-blocks policy_id': 'a filter within the organization; a foreign policy has no rows there',
  'GET /v1/usage/summary organization_id': 'as `GET /v1/usage`',
  'GET /v1/requests key_id': 'a filter within the organization; a foreign key has no rows there',
  'GET /v1/requests organization_id': 'as `GET /v1/usage`',
  'GET /v1/usage organization_id': 'only the scope admin may name organizations',
};
