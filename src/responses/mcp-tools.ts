import type { FunctionTool } from '../engines/engine.ts';
import type { McpTool } from '../mcp-servers/mcp-tool.ts';
import { type ApprovalRequest, type ConversationItem, findApprovalRequest } from './conversation.ts';
import type { OutputItem } from './item-schema.ts';
import { hashedFunctionName, mcpFunctionName } from './mcp-function-name.ts';
import { isAllowed, type McpServerTool, type ResolvedMcpTool } from './parse-mcp-tool.ts';

type ListedTools = Extract<ConversationItem, { type: 'mcp_list_tools' }>;

/** A tool of a server that models may call in a response. */
export interface OfferedTool {
  server: McpServerTool;
  tool: McpTool;
}

/** The servers of a response, and the items that list their tools. */
export interface McpSource {
  servers: readonly McpServerTool[];
  conversation: readonly ConversationItem[];
  /** Names of functions of the request. */
  functions: readonly FunctionTool[];
}

/** Identifies the address and selection of a list: others need another list. */
export function listSource({ server_url: url, connector_id: id, allowed_tools: allowed }: ResolvedMcpTool): string {
  return JSON.stringify([url ?? id, allowed]);
}

/** The newest usable list of a server's tools in the conversation or the output; null without one. */
export function findList(
  server: McpServerTool,
  { conversation }: Pick<McpSource, 'conversation'>,
  output: readonly OutputItem[],
): Pick<ListedTools, 'tools'> | null {
  const listed = output.findLast(
    (item) => item.type === 'mcp_list_tools' && item.server_label === server.label && item.error === null,
  );
  if (listed?.type === 'mcp_list_tools') return listed;
  const source = listSource(server.resolved);
  return (
    conversation.findLast(
      (item): item is ListedTools =>
        item.type === 'mcp_list_tools' &&
        item.serverLabel === server.label &&
        // A list that the client has sent itself is used as it is.
        (item.source === undefined || item.source === source),
    ) ?? null
  );
}

/** The tools that models may call, by the name under which they see them. */
export function offeredTools(source: McpSource, output: readonly OutputItem[]): Map<string, OfferedTool> {
  const taken = new Set(source.functions.map(({ function: { name } }) => name));
  const offered = new Map<string, OfferedTool>();
  for (const server of source.servers) {
    for (const tool of findList(server, source, output)?.tools ?? []) {
      if (!isAllowed(server.allowedTools, tool) || server.choosable?.includes(tool.name) === false) continue;
      const qualified = mcpFunctionName(server.label, tool.name);
      const name = taken.has(qualified) ? hashedFunctionName(server.label, tool.name) : qualified;
      if (taken.has(name)) continue;
      taken.add(name);
      offered.set(name, { server, tool });
    }
  }
  return offered;
}

/** Definition of an offered tool for models. `clean`: applied to the description, which is text of another server. */
export function offeredFunction(
  name: string,
  { server, tool }: OfferedTool,
  clean: (text: string) => string,
): FunctionTool {
  const { description, input_schema: parameters } = tool;
  const { server_description: serverDescription } = server.resolved;
  const texts = [
    ...(description === null ? [] : [clean(description)]),
    ...(serverDescription === null ? [] : [serverDescription]),
  ];
  return {
    type: 'function',
    function: { name, ...(texts.length > 0 && { description: texts.join('\n') }), parameters },
  };
}

/** Calls that the user has approved and that have not been made, in the order of their approvals. */
export function approvedCalls(
  conversation: readonly ConversationItem[],
  output: readonly OutputItem[],
): ApprovalRequest[] {
  const made = new Set([
    ...conversation.flatMap((item) => (item.type === 'mcp_call' ? (item.approvalRequestId ?? []) : [])),
    ...output.flatMap((item) => (item.type === 'mcp_call' ? (item.approval_request_id ?? []) : [])),
  ]);
  return conversation.flatMap((item) => {
    if (item.type !== 'mcp_approval_response' || !item.approve || made.has(item.approvalRequestId)) return [];
    return findApprovalRequest(conversation, item.approvalRequestId) ?? [];
  });
}
