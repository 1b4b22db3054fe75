import type { Json } from './schema-fields.ts';
import { resolveReference } from './schema-fields.ts';

/** Placeholder for the base URL in examples. */
const BASE_URL = 'http://127.0.0.1:8080';
/** Maximum depth of objects in a sample. */
const MAX_DEPTH = 6;

/** Methods of the OpenAI client by operation id. */
export const CLIENT_METHODS: Readonly<Record<string, string>> = {
  createChatCompletion: 'chat.completions.create',
  createCompletion: 'completions.create',
  createResponse: 'responses.create',
  getResponse: 'responses.retrieve',
  deleteResponse: 'responses.delete',
  cancelResponse: 'responses.cancel',
  createConversation: 'conversations.create',
  getConversation: 'conversations.retrieve',
  updateConversation: 'conversations.update',
  deleteConversation: 'conversations.delete',
  createConversationItem: 'conversations.items.create',
  listConversationItems: 'conversations.items.list',
  createEmbedding: 'embeddings.create',
  createModeration: 'moderations.create',
  listModels: 'models.list',
  getModel: 'models.retrieve',
  createFile: 'files.create',
  listFiles: 'files.list',
  getFile: 'files.retrieve',
  deleteFile: 'files.delete',
  getFileContent: 'files.content',
  createBatch: 'batches.create',
  listBatches: 'batches.list',
  getBatch: 'batches.retrieve',
  cancelBatch: 'batches.cancel',
  createVectorStore: 'vectorStores.create',
  listVectorStores: 'vectorStores.list',
  getVectorStore: 'vectorStores.retrieve',
  updateVectorStore: 'vectorStores.update',
  deleteVectorStore: 'vectorStores.delete',
  searchVectorStore: 'vectorStores.search',
};

/** A request for an example. */
export interface ExampleRequest {
  operationId: string;
  method: string;
  path: string;
  isPublic: boolean;
  /** JSON, or a form in which values that start with `@` are files. Undefined if there is no body. */
  body: unknown;
  isForm: boolean;
}

/** Renders a request as a curl command. */
export function toCurl({ method, path, isPublic, body, isForm }: ExampleRequest): string {
  const url = BASE_URL + path.replace(/\{(\w+)\}/g, (_match, name: string) => `$${name.toUpperCase()}`);
  const lines = [
    `curl ${method === 'get' ? '' : `-X ${method.toUpperCase()} `}"${url}"`,
    ...(isPublic ? [] : ['-H "Authorization: Bearer $QUIRE_API_KEY"']),
  ];
  if (isForm) lines.push(...Object.entries(body as Json).map(([name, value]) => `-F ${name}=${value}`));
  else if (body !== undefined) {
    const json = JSON.stringify(body, null, 2).replaceAll("'", String.raw`'\''`);
    lines.push('-H "Content-Type: application/json"', `-d '${json}'`);
  }
  return lines.join(' \\\n  ');
}

/** Renders a request as a call of the OpenAI client. Null if the operation is not below its base URL `/v1`. */
export function toClientCall({ operationId, method, path, isPublic, body, isForm }: ExampleRequest): string | null {
  if (!path.startsWith('/v1/') || isPublic) return null;
  const ids = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => camelCase(name));
  const text = body === undefined ? undefined : isForm ? formatForm(body as Json) : formatObject(body);
  const name = CLIENT_METHODS[operationId];
  if (name !== undefined) return `await client.${name}(${[...ids, ...(text === undefined ? [] : [text])].join(', ')});`;
  if (isForm) return null;
  const route = path.slice('/v1'.length).replace(/\{(\w+)\}/g, (_match, id: string) => `\${${camelCase(id)}}`);
  const quoted = ids.length === 0 ? `'${route}'` : `\`${route}\``;
  return `await client.${method}(${quoted}${text === undefined ? '' : `, { body: ${text} }`});`;
}

const camelCase = (name: string): string => name.replace(/_(\w)/g, (_match, letter: string) => letter.toUpperCase());

const formatForm = (fields: Json): string =>
  `{ ${Object.entries(fields)
    .map(([name, value]) => {
      const text = String(value);
      return `${name}: ${text.startsWith('@') ? `createReadStream('${text.slice(1)}')` : `'${text}'`}`;
    })
    .join(', ')} }`;

/** Renders JSON as a JavaScript object literal. */
const formatObject = (value: unknown): string =>
  JSON.stringify(value, null, 2).replace(/^(\s*)"([A-Za-z_]\w*)":/gm, '$1$2:');

/** Returns a minimal value of a schema: the required fields, or the first field if none is required. */
export function sampleValue(api: Json, reference: Json, depth = 0): unknown {
  const schema = resolveReference(api, reference);
  const [example] = (schema['examples'] ?? []) as unknown[];
  const preset = example ?? schema['const'] ?? (schema['enum'] as unknown[] | undefined)?.[0] ?? schema['default'];
  if (preset !== undefined) return preset;
  const [alternative] = (schema['anyOf'] ?? schema['oneOf'] ?? schema['allOf'] ?? []) as Json[];
  if (alternative !== undefined) return sampleValue(api, alternative, depth);
  const type = Array.isArray(schema['type']) ? schema['type'][0] : schema['type'];
  if (type === 'array') return [sampleValue(api, (schema['items'] ?? {}) as Json, depth)];
  if (type === 'object') return sampleObject(api, schema, depth);
  if (type === 'boolean') return true;
  if (type === 'integer' || type === 'number') return schema['minimum'] ?? 1;
  if (schema['format'] === 'binary') return '@document.pdf';
  return SAMPLE_TEXTS[String(schema['format'])] ?? 'text'.padEnd(Number(schema['minLength'] ?? 0), '.');
}

const SAMPLE_TEXTS: Readonly<Record<string, string>> = { email: 'ada@example.com', uri: 'https://example.com' };

function sampleObject(api: Json, schema: Json, depth: number): Json {
  const properties = (schema['properties'] ?? {}) as Record<string, Json>;
  const required = (schema['required'] ?? []) as string[];
  const names = required.length > 0 ? required : Object.keys(properties).slice(0, depth === 0 ? 1 : 0);
  const isDeep = depth >= MAX_DEPTH;
  return Object.fromEntries(
    names.flatMap((name) => {
      const field = properties[name];
      return field === undefined || isDeep ? [] : [[name, sampleValue(api, field, depth + 1)]];
    }),
  );
}
