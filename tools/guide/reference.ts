import MarkdownIt from 'markdown-it';
import type { ReferenceGroup } from './contents.ts';
import type { GuidePage } from './layout.ts';
import { GUIDE_PATH, type Heading, slugify } from './markdown.ts';
import { sampleValue, toClientCall, toCurl } from './request-example.ts';
import { describeType, type Json, renderFields, resolveReference } from './schema-fields.ts';

const markdown = new MarkdownIt({ html: false });
const { escapeHtml } = markdown.utils;
const METHODS = ['get', 'post', 'put', 'patch', 'delete'];
interface Operation {
  method: string;
  path: string;
  tag: string;
  /** The operation object of the API description. */
  description: Json;
}

/** The operations of the API description by tag, `/healthz` and other paths without `/v1` as described. */
export function operationsByTag(api: Json): ReadonlyMap<string, Operation[]> {
  const byTag = new Map<string, Operation[]>();
  for (const [path, methods] of Object.entries((api['paths'] ?? {}) as Record<string, Json>)) {
    for (const method of METHODS) {
      const description = methods[method] as Json | undefined;
      if (description === undefined) continue;
      const tag = (description['tags'] as string[] | undefined)?.[0] ?? '';
      byTag.set(tag, [...(byTag.get(tag) ?? []), { method, path, tag, description }]);
    }
  }
  return byTag;
}

const INTRODUCTION = `The base URL of API clients ends with \`/v1\`. Requests carry a key as \`Authorization: Bearer quire-sk-...\`; the
console makes keys under *API keys*, and the command \`quire keys create\` does too.

Bodies and responses are JSON. Lists have \`limit\`, \`after\` and \`has_more\`. Every response has the header \`x-request-id\`, which the
console opens under *Requests*. All errors have the same format: see [Errors](${GUIDE_PATH}/errors). Limits of a key are in the headers
\`x-ratelimit-*\`: see [Rate limits](${GUIDE_PATH}/limits).

The examples use these two lines of JavaScript; \`client\` is the same in all of them. Every OpenAI client works with the base URL and a key.`;

const CLIENT = `import OpenAI from 'openai';

const client = new OpenAI({ baseURL: 'http://127.0.0.1:8080/v1', apiKey: process.env.QUIRE_API_KEY });`;

/** Renders the first page of the API reference: the request format and all operations by task. */
export function renderReferenceStart(api: Json, groups: readonly ReferenceGroup[]): GuidePage {
  const byTag = operationsByTag(api);
  const headings: Heading[] = [{ level: 1, text: 'All operations', id: 'all-operations' }];
  const sections = groups.map(({ slug, title, tags }) => {
    headings.push({ level: 2, text: title, id: slug });
    const rows = tags
      .flatMap((tag) => byTag.get(tag) ?? [])
      .map(
        ({ method, path, description }) =>
          `<tr><td><span class="method ${method}">${method.toUpperCase()}</span></td><td><code>${escapeHtml(path)}</code></td><td><a href="${GUIDE_PATH}/api/${slug}#${String(description['operationId'])}">${escapeHtml(String(description['summary'] ?? ''))}</a></td></tr>`,
      );
    return `<h2 id="${slug}"><a href="${GUIDE_PATH}/api/${slug}">${escapeHtml(title)}</a></h2><div class="table" tabindex="0"><table><tbody>${rows.join('')}</tbody></table></div>`;
  });
  const source = '<p>OpenAPI 3.1 document for client generators: <a href="/openapi.json">openapi.json</a>.</p>';
  const start = `<h1 id="all-operations">All operations</h1>${markdown.render(INTRODUCTION)}${renderCode(CLIENT, 'js')}${source}`;
  return { path: 'api/all', title: 'All operations', html: [start, ...sections].join('\n'), headings };
}

/** Renders one page of the API reference. */
export function renderReference(api: Json, group: ReferenceGroup): GuidePage {
  const used = new Map<string, number>();
  const headings: Heading[] = [];
  const addHeading = (level: number, text: string, id = slugify(text, used)) => {
    headings.push({ level, text, id });
    return `<h${level} id="${id}">${escapeHtml(text)}</h${level}>`;
  };
  const byTag = operationsByTag(api);
  const parts = [addHeading(1, group.title), markdown.render(group.introduction)];
  for (const tag of group.tags) {
    if (group.tags.length > 1) parts.push(addHeading(2, tag));
    for (const operation of byTag.get(tag) ?? []) {
      const { summary, operationId } = operation.description;
      const title = String(summary ?? `${operation.method} ${operation.path}`);
      parts.push(addHeading(group.tags.length > 1 ? 3 : 2, title, String(operationId)));
      parts.push(renderOperation(api, operation));
    }
  }
  return { path: `api/${group.slug}`, title: group.title, html: parts.join('\n'), headings };
}

/** Paths that the playground of the console can call. */
const PLAYGROUND = new Set(['/v1/chat/completions', '/v1/responses']);

const isOpen = ({ security }: Json): boolean => Array.isArray(security) && security.length === 0;

function renderOperation(api: Json, operation: Operation): string {
  const { method, path, description } = operation;
  const body = bodyOf(api, description);
  const playground =
    PLAYGROUND.has(path) && method === 'post' ? ' <a href="/playground">Try it in the playground</a>' : '';
  return [
    `<p class="operation"><span class="method ${method}">${method.toUpperCase()}</span> <code>${escapeHtml(path)}</code>${
      isOpen(description) ? ' <small>no key needed</small>' : ''
    }${playground}</p>`,
    markdown.render(String(description['description'] ?? '')),
    renderParameters(api, (description['parameters'] ?? []) as Json[]),
    body?.schema === undefined
      ? ''
      : `<h4>Body</h4>${body.type === 'application/json' ? '' : `<p><code>${body.type}</code></p>`}${renderFields(api, body.schema)}`,
    renderExample(api, operation),
    renderResponses(api, (description['responses'] ?? {}) as Record<string, Json>),
  ].join('\n');
}

interface Content {
  /** Media type. */
  type: string;
  schema?: Json;
  example?: unknown;
}

const bodyOf = (api: Json, { requestBody }: Json): Content | undefined =>
  requestBody === undefined ? undefined : readContent(api, requestBody as Json);

/** Returns the content of a body or response. JSON is preferred if there are several media types. */
function readContent(api: Json, reference: Json): Content | undefined {
  const content = Object.entries((resolveReference(api, reference)['content'] ?? {}) as Record<string, Json>);
  const [type, media] = content.find(([name]) => name === 'application/json') ?? content[0] ?? [];
  if (type === undefined || media === undefined) return;
  const schema = media['schema'] as Json | undefined;
  return { type, ...(schema !== undefined && { schema }), example: media['example'] };
}

function renderParameters(api: Json, parameters: readonly Json[]): string {
  if (parameters.length === 0) return '';
  const rows = parameters.map((reference) => {
    const parameter = resolveReference(api, reference);
    const schema = (parameter['schema'] ?? {}) as Json;
    return `<tr><td><code>${escapeHtml(String(parameter['name']))}</code></td><td>${escapeHtml(String(parameter['in']))}${
      parameter['required'] === true ? ', required' : ''
    }</td><td>${escapeHtml(describeType(api, schema))}</td><td>${markdown.renderInline(
      String(parameter['description'] ?? schema['description'] ?? ''),
    )}</td></tr>`;
  });
  return `<h4>Parameters</h4><div class="table" tabindex="0"><table><thead><tr><th>Name</th><th>In</th><th>Type</th><th>Description</th></tr></thead><tbody>${rows.join('')}</tbody></table></div>`;
}

/** Renders a request as a curl command and as a call of the OpenAI client. */
function renderExample(api: Json, { method, path, description }: Operation): string {
  const body = bodyOf(api, description);
  const request = {
    operationId: String(description['operationId']),
    method,
    path,
    isPublic: isOpen(description),
    body: body === undefined ? undefined : (body.example ?? sampleValue(api, body.schema ?? {})),
    isForm: body?.type === 'multipart/form-data',
  };
  const call = toClientCall(request);
  return [
    renderCode(toCurl(request), 'sh'),
    call === null ? '' : `<details><summary>With the OpenAI client</summary>${renderCode(call, 'js')}</details>`,
  ].join('\n');
}

const renderCode = (code: string, language: string): string =>
  `<div class="code"><button type="button" class="copy" hidden>Copy</button><pre tabindex="0"><code data-language="${language}">${escapeHtml(code)}</code></pre></div>`;

function renderResponses(api: Json, responses: Record<string, Json>): string {
  const parts: string[] = [];
  const errors: string[] = [];
  for (const [status, reference] of Object.entries(responses)) {
    const response = resolveReference(api, reference);
    const text = markdown.renderInline(String(response['description'] ?? ''));
    if (Number(status) >= 400) errors.push(`<tr><td>${escapeHtml(status)}</td><td>${text}</td></tr>`);
    else {
      const schema = readContent(api, response)?.schema;
      parts.push(
        `<h4>Response ${escapeHtml(status)}</h4>${schema === undefined ? `<p>${text}</p>` : renderFields(api, schema)}`,
      );
    }
  }
  if (errors.length > 0) {
    parts.push(
      `<details class="errors"><summary>Errors</summary><div class="table"><table><thead><tr><th>Status</th><th>Meaning</th></tr></thead><tbody>${errors.join('')}</tbody></table></div><p>Codes and the form of an error: <a href="${GUIDE_PATH}/errors">Errors</a>.</p></details>`,
    );
  }
  return parts.join('\n');
}
