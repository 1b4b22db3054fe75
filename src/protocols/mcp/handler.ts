import { createMcpHandler, type McpHttpHandler } from '@modelcontextprotocol/server';
import type { ChatDeps } from '../../chat/start-chat.ts';
import { createMcpServer, type McpCaller } from './server.ts';

/** Creates the handler of `/mcp`. Every request has a server of its own, with the tools of its caller. */
export function createHandler(deps: ChatDeps, version: string): McpHttpHandler {
  return createMcpHandler(({ authInfo }) => createMcpServer(deps, authInfo?.extra?.['caller'] as McpCaller, version), {
    onerror: (error) => deps.logger.debug({ cause: error.message }, 'MCP request rejected'),
  });
}
