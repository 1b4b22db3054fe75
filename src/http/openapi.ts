import swagger from '@fastify/swagger';
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import type { App } from './app.ts';
import { errorResponses, type RouteFacts, responseHeaders } from './describe-operation.ts';
import { nameComponents } from './name-components.ts';
import { describeNulls, NULL_IS_ABSENT } from './null-fields.ts';
import { operationId } from './operation-id.ts';
import { OPENAI_STREAM } from './protocol.ts';

/** The request body with the nulls that `NULL_IS_ABSENT` accepts. */
function describeBody(body: unknown): { body?: object } {
  const acceptsNulls = typeof body === 'object' && body !== null && NULL_IS_ABSENT in body;
  return acceptsNulls ? { body: describeNulls(body) } : {};
}

function routeFacts({ method, config, schema }: RouteOptions): RouteFacts {
  return {
    method: [method].flat().find((name) => name !== 'HEAD') ?? 'GET',
    scope: config?.scope,
    sessionErrors: config?.sessionErrors ?? [],
    isIdempotent: config?.idempotent !== undefined && config.idempotent !== false,
    hasBody: schema?.body !== undefined,
    hasQuery: schema?.querystring !== undefined,
    hasParams: schema?.params !== undefined,
    protocol: config?.protocol ?? null,
  };
}

/** Adds headers to the responses of a route, the events of a stream, and the errors by status. */
function describeResponses(responses: Record<string, object>, facts: RouteFacts): Record<string, object> {
  const described = Object.entries(responses).map(([status, response]): [string, object] => {
    const events = STREAMED.get(response);
    const headers = responseHeaders(facts, events !== undefined);
    if ('content' in response)
      return [status, { ...response, headers: { ...headers, ...(response as { headers?: object }).headers } }];
    const [streamType = ''] = (facts.protocol?.stream ?? OPENAI_STREAM).contentType.split(';');
    const stream = events === undefined ? {} : { [streamType]: { schema: events } };
    const description = (response as { description?: string }).description ?? 'Success.';
    return [status, { description, headers, content: { 'application/json': { schema: response }, ...stream } }];
  });
  return { ...errorResponses(facts), ...Object.fromEntries(described) };
}

/** Schemas of the events of streams, by the schema of the response without `stream`. */
const STREAMED = new WeakMap<object, object>();

/**
 * Declares that a route can stream: the API description then has the schema of one event (the JSON of a `data:` frame)
 * beside the schema of the whole response, which is returned.
 */
export function streamed<Response extends object>(response: Response, event: object): Response {
  STREAMED.set(response, event);
  return response;
}

const INFO = {
  title: 'Quire',
  description: 'Inference, retrieval and knowledge bases for OpenAI clients, on your own machine.',
  license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
};

/** Serves the OpenAPI 3.1 document at `/openapi.json`, `/docs/json` and `/docs/yaml`. */
export async function describeApi(app: App, version: string): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { ...INFO, version },
      components: {
        securitySchemes: {
          key: {
            type: 'http',
            scheme: 'bearer',
            description: 'An API key, `quire-sk-...`. Users who are signed in to the console need none here.',
          },
        },
      },
      security: [{ key: [] }],
    },
    transform: ({ schema, url, route }) => {
      const facts = routeFacts(route);
      const security = facts.scope === 'public' ? { security: [] } : {};
      const response = describeResponses((schema?.response ?? {}) as Record<string, object>, facts);
      const operation = {
        operationId: schema?.operationId ?? operationId(facts.method, url),
        ...describeBody(schema?.body),
        response,
        ...security,
      };
      return { schema: { ...schema, ...operation }, url };
    },
    transformObject: (document) =>
      nameComponents('openapiObject' in document ? document.openapiObject : document.swaggerObject),
  });
  const sendJson = sendOnceCreated('application/json; charset=utf-8', () => JSON.stringify(app.swagger()));
  const sendYaml = sendOnceCreated('application/x-yaml', () => app.swagger({ yaml: true }));
  for (const path of ['/openapi.json', '/docs/json'])
    app.get(path, { schema: { hide: true }, config: { scope: 'public' } }, sendJson);
  app.get('/docs/yaml', { schema: { hide: true }, config: { scope: 'public' } }, sendYaml);
}

/** A handler of a large response that is the same for everybody. It needs no key, so each request must cost little. */
function sendOnceCreated(type: string, create: () => string) {
  let bytes: Buffer | undefined;
  return async (_request: FastifyRequest, reply: FastifyReply) => {
    bytes ??= Buffer.from(create());
    return reply.type(type).send(bytes);
  };
}
