import { ListQuery, listSchema } from '../db/page.ts';
import type { App } from '../http/app.ts';
import { toCall } from '../http/auth.ts';
import {
  deleteMcpServer,
  getMcpServer,
  listMcpServers,
  type McpServerDeps,
  registerMcpServer,
  updateMcpServer,
} from './manage-servers.ts';
import { CreateMcpServer, DeletedMcpServer, McpServerParams, McpServerResource, UpdateMcpServer } from './schema.ts';

const tags = ['Model Context Protocol'];
const config = { scope: 'knowledge' } as const;
const params = McpServerParams;
const response = { 200: McpServerResource };

/** `/v1/mcp-servers`: registered servers, whose tools responses may call. */
export function mcpServerRoutes(app: App, deps: McpServerDeps): void {
  app.post(
    '/v1/mcp-servers',
    {
      schema: {
        summary: 'Register an MCP server',
        description:
          'Responses refer to the server in a tool of the type `mcp` by its label, or by its id in `connector_id`, instead of `server_url`. Headers are stored encrypted.',
        tags,
        body: CreateMcpServer,
        response,
      },
      config: { ...config, idempotent: true },
    },
    async (request) => registerMcpServer(deps, toCall(request), request.body),
  );
  app.get(
    '/v1/mcp-servers',
    {
      schema: {
        summary: 'List the registered MCP servers',
        tags,
        querystring: ListQuery,
        response: { 200: listSchema(McpServerResource) },
      },
      config,
    },
    async (request) => listMcpServers(deps, toCall(request), request.query),
  );
  app.get(
    '/v1/mcp-servers/:server_id',
    { schema: { summary: 'Get a registered MCP server', tags, params, response }, config },
    async (request) => getMcpServer(deps, toCall(request), request.params.server_id),
  );
  app.put(
    '/v1/mcp-servers/:server_id',
    { schema: { summary: 'Change a registered MCP server', tags, params, body: UpdateMcpServer, response }, config },
    async (request) => updateMcpServer(deps, toCall(request), request.params.server_id, request.body),
  );
  app.delete(
    '/v1/mcp-servers/:server_id',
    {
      schema: { summary: 'Delete a registered MCP server', tags, params, response: { 200: DeletedMcpServer } },
      config,
    },
    async (request) => deleteMcpServer(deps, toCall(request), request.params.server_id),
  );
}
