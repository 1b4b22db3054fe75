import MarkdownIt from 'markdown-it';
import type { ReferenceGroup } from './contents.ts';
import type { GuidePage } from './layout.ts';
import { type Heading, slugify } from './markdown.ts';
import { describeType, type Json, renderFields, resolveReference } from './schema-fields.ts';

const markdown = new MarkdownIt({ html: false });
const { escapeHtml } = markdown.utils;
const METHODS = ['get', 'post', 'put', 'patch', 'delete'];
/** Stands for the address of the service in the examples. */
const BASE_URL = 'http://127.0.0.1:8080';

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

/** Renders one page of the API reference. */
export function renderReference(api: Json, group: ReferenceGroup): GuidePage {
  const used = new Map<string, number>();
  const headings: Heading[] = [];
  const addHeading = (level: number, text: string) => {
    const id = slugify(text, used);
    headings.push({ level, text, id });
    return `<h${level} id="${id}">${escapeHtml(text)}</h${level}>`;
  };
  const byTag = operationsByTag(api);
  const parts = [addHeading(1, group.title), markdown.render(group.introduction)];
  for (const tag of group.tags) {
    if (group.tags.length > 1) parts.push(addHeading(2, tag));
    for (const operation of byTag.get(tag) ?? []) {
      const { summary } = operation.description;
      parts.push(addHeading(group.tags.length > 1 ? 3 : 2, String(summary ?? `${operation.method} ${operation.path}`)));
      parts.push(renderOperation(api, operation));
    }
  }
  return { path: `api/${group.slug}`, title: group.title, html: parts.join('\n'), headings };
}

function renderOperation(api: Json, { method, path, description }: Operation): string {
  const isPublic = Array.isArray(description['security']) && description['security'].length === 0;
  const body = jsonContent(api, description['requestBody'] as Json | undefined);
  return [
    `<p class="operation"><span class="method ${method}">${method.toUpperCase()}</span> <code>${escapeHtml(path)}</code>${
      isPublic ? ' <small>no key needed</small>' : ''
    }</p>`,
    markdown.render(String(description['description'] ?? '')),
    renderParameters(api, (description['parameters'] ?? []) as Json[]),
    body?.schema === undefined ? '' : `<h4>Body</h4>${renderFields(api, body.schema)}`,
    renderExample({ method, path, isPublic, example: body?.example }),
    renderResponses(api, (description['responses'] ?? {}) as Record<string, Json>),
  ].join('\n');
}

/** The schema and the example of a body in JSON; undefined for bodies of other types. */
function jsonContent(api: Json, body: Json | undefined): { schema?: Json; example?: unknown } | undefined {
  if (body === undefined) return;
  const content = (resolveReference(api, body)['content'] ?? {}) as Record<string, Json>;
  const media = content['application/json'] ?? Object.values(content)[0];
  if (media === undefined) return;
  const schema = media['schema'] as Json | undefined;
  return { ...(schema !== undefined && { schema }), example: media['example'] };
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

interface Example {
  method: string;
  path: string;
  isPublic: boolean;
  example: unknown;
}

/** The request as a curl command; nothing for a body without an example. */
function renderExample({ method, path, isPublic, example }: Example): string {
  if (example === undefined && method !== 'get' && method !== 'delete') return '';
  const url = BASE_URL + path.replace(/\{(\w+)\}/g, (_match, name: string) => `$${name.toUpperCase()}`);
  const lines = [
    `curl ${method === 'get' ? '' : `-X ${method.toUpperCase()} `}"${url}"`,
    ...(isPublic ? [] : ['-H "Authorization: Bearer $QUIRE_API_KEY"']),
    ...(example === undefined
      ? []
      : [
          '-H "Content-Type: application/json"',
          `-d '${JSON.stringify(example, null, 2).replaceAll("'", String.raw`'\''`)}'`,
        ]),
  ];
  return `<div class="code"><button type="button" class="copy" hidden>Copy</button><pre tabindex="0"><code data-language="sh">${escapeHtml(
    lines.join(' \\\n  '),
  )}</code></pre></div>`;
}

function renderResponses(api: Json, responses: Record<string, Json>): string {
  const parts: string[] = [];
  const errors: string[] = [];
  for (const [status, reference] of Object.entries(responses)) {
    const response = resolveReference(api, reference);
    const text = markdown.renderInline(String(response['description'] ?? ''));
    if (Number(status) >= 400) errors.push(`<tr><td>${escapeHtml(status)}</td><td>${text}</td></tr>`);
    else {
      const schema = jsonContent(api, response)?.schema;
      parts.push(
        `<h4>Response ${escapeHtml(status)}</h4>${schema === undefined ? `<p>${text}</p>` : renderFields(api, schema)}`,
      );
    }
  }
  if (errors.length > 0) {
    parts.push(
      `<details class="errors"><summary>Errors</summary><div class="table"><table><tbody>${errors.join('')}</tbody></table></div></details>`,
    );
  }
  return parts.join('\n');
}
