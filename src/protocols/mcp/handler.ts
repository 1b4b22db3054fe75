import { createMcpHandler, type McpHttpHandler } from '@modelcontextprotocol/server';
import { createMcpServer, type McpCaller } from './server.ts';
import type { McpDeps } from './tools.ts';

/** Creates the handler of `/mcp`. Every request has a server of its own, with the tools of its caller. */
export function createHandler(deps: McpDeps, version: string): McpHttpHandler {
  return createMcpHandler(({ authInfo }) => createMcpServer(deps, authInfo?.extra?.['caller'] as McpCaller, version), {
    onerror: (error) => deps.logger.debug({ cause: error.message }, 'MCP request rejected'),
  });
}
