import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import { Type } from 'typebox';
import type { App } from './app.ts';
import { describeNulls, NULL_IS_ABSENT } from './null-fields.ts';

/** Response body of all errors. */
const ErrorResponse = Type.Object(
  {
    error: Type.Object({
      message: Type.String(),
      type: Type.String(),
      param: Type.Union([Type.String(), Type.Null()], { description: 'Dotted path of the invalid field.' }),
      code: Type.String(),
    }),
  },
  {
    description: 'Error. `code` identifies the error, `param` the field.',
    examples: [
      {
        error: {
          message: "'model' is required.",
          type: 'invalid_request_error',
          param: 'model',
          code: 'missing_required_field',
        },
      },
    ],
  },
);

/** Response of calls that are not paid for. */
const InsufficientCredits = {
  ...ErrorResponse,
  description:
    '`insufficient_credits`: the credits of the organization or the budget of the key do not cover the call.',
  examples: [
    {
      error: {
        message: 'The credits of your organization do not cover this request.',
        type: 'billing_error',
        param: null,
        code: 'insufficient_credits',
      },
    },
  ],
};

const integerHeader = (description: string) => ({ type: 'integer', description });

/** Response of a rate-limited route. */
const RateLimitedResponse = {
  ...ErrorResponse,
  description: '`rate_limit_exceeded`: a rate limit of the key or its organization is reached.',
  headers: { 'retry-after': integerHeader('Seconds until the request can succeed.') },
  examples: [
    {
      error: {
        message: 'The limit of 60 requests per minute of this API key for inference is reached. Retry in 1 s.',
        type: 'rate_limit_error',
        param: null,
        code: 'rate_limit_exceeded',
      },
    },
  ],
};

/** The request body with the nulls that `NULL_IS_ABSENT` accepts. */
function describeBody(body: unknown): { body?: object } {
  const acceptsNulls = typeof body === 'object' && body !== null && NULL_IS_ABSENT in body;
  return acceptsNulls ? { body: describeNulls(body) } : {};
}

const DOCS_PATH = '/docs';

/** Content-Security-Policy of `/docs`: its own scripts, styles and icons. */
const DOCS_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'";

/** Serves the OpenAPI 3.1 description generated from the route schemas: `GET /openapi.json` and Swagger UI at `/docs`. */
export async function describeApi(app: App, version: string): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Quire',
        version,
        description: 'Inference, retrieval and knowledge bases for OpenAI clients, on your own machine.',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      components: {
        securitySchemes: { key: { type: 'http', scheme: 'bearer', description: 'An API key, `quire-sk-...`.' } },
      },
      security: [{ key: [] }],
    },
    transform: ({ schema, url, route }) => {
      const scope = route.config?.scope;
      const isOpen = scope === 'public';
      const response = {
        ...(schema?.response as object | undefined),
        ...(scope === 'inference' && { 402: InsufficientCredits }),
        ...(!isOpen && { 429: RateLimitedResponse }),
        '4xx': ErrorResponse,
        '5xx': ErrorResponse,
      };
      const body = describeBody(schema?.body);
      return { schema: { ...schema, ...body, response, ...(isOpen && { security: [] }) }, url };
    },
  });
  app.addHook('onRoute', (route) => {
    // The plugin registers the routes of the page without our `config`.
    if (route.url.startsWith(DOCS_PATH)) route.config = { ...route.config, scope: 'public' };
  });
  await app.register(swaggerUi, {
    routePrefix: DOCS_PATH,
    uiConfig: { deepLinking: true, persistAuthorization: false, url: '/openapi.json' },
    uiHooks: {
      onRequest: (_request, reply, next) => {
        reply.header('content-security-policy', DOCS_POLICY);
        next();
      },
    },
  });
  app.get('/openapi.json', { schema: { hide: true }, config: { scope: 'public' } }, async () => app.swagger());
}
