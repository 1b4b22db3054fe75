import { Readable } from 'node:stream';
import type { McpHttpHandler } from '@modelcontextprotocol/server';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { insufficientScope } from '../../errors.ts';
import type { App } from '../../http/app.ts';
import { toCall } from '../../http/auth.ts';
import { disconnectSignal } from '../../http/event-stream.ts';
import { isLoopbackHost } from '../../lib/loopback-host.ts';
import { MCP } from './protocol.ts';
import type { McpCaller } from './server.ts';
import type { McpDeps } from './tools.ts';

/** Where clients look for the protected-resource metadata (RFC 9728). */
const METADATA_PATH = '/.well-known/oauth-protected-resource';

const Message = Type.Object(
  { jsonrpc: Type.Literal('2.0'), method: Type.Optional(Type.String()), params: Type.Optional(Type.Unknown()) },
  { title: 'JsonRpcMessage' },
);

const ResourceMetadata = Type.Object(
  {
    resource: Type.String(),
    resource_name: Type.String(),
    bearer_methods_supported: Type.Array(Type.String()),
    scopes_supported: Type.Array(Type.String()),
  },
  { title: 'ProtectedResourceMetadata' },
);

/** The Model Context Protocol: `POST /mcp`, Streamable HTTP without sessions, and its protected-resource metadata. */
export function mcpRoutes(app: App, deps: McpDeps, version: string): void {
  let handler: Promise<McpHttpHandler> | undefined;
  app.post(
    '/mcp',
    {
      schema: {
        summary: 'Call a tool by the Model Context Protocol',
        description:
          'Revisions 2026-07-28 and 2025-11-25, stateless. Tools: `list_knowledge_bases`, `search`, `fetch`, `ask` and `add_document`.',
        tags: ['Model Context Protocol'],
        body: Message,
        response: { 200: Message },
      },
      config: { scope: 'knowledge', protocol: MCP, usesTokens: true, resourceMetadata: `${METADATA_PATH}/mcp` },
    },
    async (request, reply) => {
      requireAllowedOrigin(request, deps.config.corsOrigins);
      // The package takes 200 ms to load.
      handler ??= import('./handler.ts').then(({ createHandler }) => createHandler(deps, version));
      const caller: McpCaller = { call: toCall(request), origin: serviceOrigin(request) };
      const { fetch } = await handler;
      const response = await fetch(toWebRequest(request, reply), {
        parsedBody: request.body,
        // The handler checks no credentials: the caller was authenticated before.
        authInfo: { token: '', clientId: caller.call.caller.organizationId, scopes: [], extra: { caller } },
      });
      return sendWebResponse(reply, response);
    },
  );
  for (const path of [METADATA_PATH, `${METADATA_PATH}/mcp`]) {
    app.get(
      path,
      {
        schema: {
          summary: 'How `/mcp` is protected (RFC 9728)',
          tags: ['Model Context Protocol'],
          response: { 200: ResourceMetadata },
        },
        config: { scope: 'public' },
      },
      async (request) => ({
        resource: `${serviceOrigin(request)}/mcp`,
        resource_name: 'Quire',
        bearer_methods_supported: ['header'],
        scopes_supported: ['knowledge', 'inference'],
      }),
    );
  }
}

const serviceOrigin = ({ protocol, host }: FastifyRequest): string => `${protocol}://${host}`;

/**
 * Throws 403 for a page whose origin is not in `QUIRE_CORS_ORIGINS`. Only a loopback origin may equal the host of the
 * request: any other name may have been rebound to this machine.
 */
function requireAllowedOrigin(request: FastifyRequest, allowed: readonly string[] | null): void {
  const { origin } = request.headers;
  if (origin === undefined || (origin === serviceOrigin(request) && isLoopbackHost(request.hostname))) return;
  if (allowed?.some((each) => each === '*' || each === origin)) return;
  throw insufficientScope('Pages of this origin may not use /mcp; the operator allows origins in QUIRE_CORS_ORIGINS.');
}

function toWebRequest(request: FastifyRequest, reply: FastifyReply): Request {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) if (typeof value === 'string') headers.set(name, value);
  headers.delete('content-length');
  const body = JSON.stringify(request.body);
  return new Request(`${serviceOrigin(request)}/mcp`, {
    method: 'POST',
    headers,
    body,
    signal: disconnectSignal(reply),
  });
}

function sendWebResponse(reply: FastifyReply, { status, headers, body }: Response): FastifyReply {
  reply.code(status);
  for (const [name, value] of headers) reply.header(name, value);
  return reply.send(body === null ? '' : Readable.fromWeb(body as Parameters<typeof Readable.fromWeb>[0]));
}
