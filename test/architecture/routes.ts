import type { Node } from 'oxc-parser';
import { type Checker, isTest, nodeName, type Source, violationAt, walk } from './source.ts';

const METHODS: ReadonlySet<string> = new Set(['get', 'head', 'post', 'put', 'patch', 'delete', 'options', 'all']);
const NEEDED = ['summary', 'tags', 'response'] as const;
/**
 * Files that serve the API description and the console, and second forms of a path; their routes may be hidden from the
 * description.
 */
const PAGE_ROUTES: ReadonlySet<string> = new Set([
  'src/http/openapi.ts',
  'src/console/routes.ts',
  'src/protocols/anthropic/model-routes.ts',
]);

/** Requires a schema with summary, tags and response on every route. */
export const checkRoutes: Checker = (source) => {
  if (!source.path.startsWith('src/') || isTest(source.path)) return [];
  const found: ReturnType<Checker> = [];
  walk(source, (node) => {
    const route = parseRoute(node);
    if (route === null) return;
    const schema = property(route.options, 'schema');
    if (PAGE_ROUTES.has(source.path) && property(schema, 'hide') !== null) return;
    const missing = schema === null ? ['schema'] : missingFields(source, schema);
    if (missing.length > 0) found.push(violationAt(source, node.start, `${route.name} has no ${missing.join(', ')}`));
  });
  return found;
};

function parseRoute(node: Node): { name: string; options: Node | undefined } | null {
  if (node.type !== 'CallExpression' || node.callee.type !== 'MemberExpression') return null;
  const [first, second] = node.arguments;
  const method = nodeName(node.callee.property) ?? '';
  // A call with two arguments, such as Playwright's `context.route`, is no route of Fastify.
  if (method === 'route') return node.arguments.length === 1 ? { name: 'the route', options: first } : null;
  const path = nodeName(first);
  // Whether the first argument is a path, which starts with a slash. Excludes calls such as `map.get('key')`.
  if (!METHODS.has(method) || path === null || !path.startsWith('/')) return null;
  return { name: `${method.toUpperCase()} ${path}`, options: second };
}

function missingFields(source: Source, schema: Node): string[] {
  const missing = NEEDED.filter((name) => property(schema, name) === null);
  const hides = property(schema, 'hide') !== null && !PAGE_ROUTES.has(source.path);
  return [...missing, ...(hides ? [`place in the description (hide is for ${[...PAGE_ROUTES].join(' and ')})`] : [])];
}

/** Returns the value of a property of an object literal. */
function property(object: Node | null | undefined, name: string): Node | null {
  if (object?.type !== 'ObjectExpression') return null;
  for (const entry of object.properties) {
    if (entry.type === 'Property' && nodeName(entry.key) === name) return entry.value;
  }
  return null;
}

/** Fields of an OpenAPI operation that the rule checks. */
interface Operation {
  operationId?: string;
  summary?: string;
  tags?: string[];
  parameters?: unknown[];
  requestBody?: { content: Content };
  responses?: Record<string, Response>;
}

type Content = Record<string, { schema: { $ref?: string } }>;

interface Response {
  $ref?: string;
  headers?: Record<string, unknown>;
  content?: Content;
}

/**
 * Applies the same rule to an OpenAPI description: operation ids that are unique, named schemas, headers, and errors by
 * status. Returns `METHOD /path` with what is missing.
 */
export function findUndescribed(document: { paths?: Record<string, unknown> }): string[] {
  const ids = new Set<string>();
  return Object.entries(document.paths ?? {}).flatMap(([path, operations]) =>
    Object.entries(operations as Record<string, Operation>).flatMap(([method, operation]) => {
      const { operationId = '', summary, tags } = operation;
      const missing = [
        ...(summary ? [] : ['summary']),
        ...(tags?.length ? [] : ['tags']),
        ...(/^[a-z][A-Za-z]+$/.test(operationId) && !ids.has(operationId) ? [] : ['operation id of its own']),
        ...findMissingParts(operation),
      ];
      ids.add(operationId);
      return missing.length > 0 ? [`${method.toUpperCase()} ${path} has no ${missing.join(', ')}`] : [];
    }),
  );
}

function findMissingParts({ requestBody, responses = {} }: Operation): string[] {
  const statuses = Object.keys(responses);
  const successes = Object.values(responses).filter((response) => response.$ref === undefined);
  const contents = [...successes.map(({ content = {} }) => content), requestBody?.content ?? {}];
  const json = contents.flatMap((content) =>
    ['application/json', 'text/event-stream'].flatMap((type) => content[type] ?? []),
  );
  const errors = ['500', ...(requestBody === undefined ? [] : ['400', '413', '415'])];
  return [
    ...(statuses.some((status) => /^(101|[23])/.test(status)) ? [] : ['response']),
    ...(successes.every(({ headers = {} }) => 'x-request-id' in headers) ? [] : ['headers']),
    ...(json.every(({ schema }) => schema.$ref !== undefined) ? [] : ['named schema']),
    ...errors.filter((status) => responses[status]?.$ref === undefined).map((status) => `error ${status}`),
  ];
}
