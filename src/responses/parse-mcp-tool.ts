import { type Static, Type } from 'typebox';
import { missingField } from '../errors.ts';
import type { RegisteredServer } from '../mcp-servers/find-registered.ts';
import type { McpAddress } from '../mcp-servers/mcp-connection.ts';
import type { McpTool } from '../mcp-servers/mcp-tool.ts';
import {
  McpAllowedTools,
  McpApproval,
  type McpToolFilter,
  parseServerHeaders,
  parseServerUrl,
  ServerLabel,
} from '../mcp-servers/server-settings.ts';

/** Fields of a tool of the type `mcp`. */
export const McpToolFields = {
  server_label: Type.Optional(ServerLabel),
  server_url: Type.Optional(
    Type.String({
      maxLength: 2_048,
      description:
        'Address of the server: Streamable HTTP. Not stored as a whole. Absent for a registered server, which `connector_id` or `server_label` names.',
    }),
  ),
  connector_id: Type.Optional(Type.String({ maxLength: 256, description: 'Id of a registered server.' })),
  server_description: Type.Optional(
    Type.String({ maxLength: 4_096, description: 'Models read it with the descriptions of the tools.' }),
  ),
  headers: Type.Optional(
    Type.Record(Type.String(), Type.String(), {
      description: 'Headers of the requests to the server. Not stored: send them with every request.',
    }),
  ),
  authorization: Type.Optional(
    Type.String({ minLength: 1, description: 'OAuth access token for the server. Not stored, as `headers`.' }),
  ),
  allowed_tools: Type.Optional(McpAllowedTools),
  require_approval: Type.Optional(McpApproval),
};

/** A tool of the type `mcp` as the response shows it: without what authenticates its user. */
export const ResolvedMcpTool = Type.Object({
  type: Type.Literal('mcp'),
  server_label: Type.String(),
  server_url: Type.Optional(Type.String({ description: 'Scheme and host; the path may authenticate its user.' })),
  connector_id: Type.Optional(Type.String({ description: 'Id of a registered server.' })),
  server_description: Type.Union([Type.String(), Type.Null()]),
  allowed_tools: Type.Union([McpAllowedTools, Type.Null()]),
  require_approval: McpApproval,
});

export type ResolvedMcpTool = Static<typeof ResolvedMcpTool>;

type McpRequestTool = Static<ReturnType<typeof Type.Object<typeof McpToolFields>>>;

/** An MCP server whose tools a response may call. */
export interface McpServerTool {
  label: string;
  address: McpAddress;
  /** Each allows the tool. Null: all. */
  allowedTools: readonly (Static<typeof McpAllowedTools> | null)[];
  requireApproval: Static<typeof McpApproval>;
  /** Names of the only tools that `tool_choice` allows; absent: all. */
  choosable?: readonly string[];
  /** The tool as the response shows it. */
  resolved: ResolvedMcpTool;
}

/**
 * Parses a tool of the type `mcp`. `registered`: the server that it names instead of an address, whose settings apply
 * where the tool has none. Throws 400 with the dotted path.
 */
export function parseMcpServerTool(
  tool: McpRequestTool,
  path: string,
  registered: RegisteredServer | null,
): McpServerTool {
  const { server_label: label, server_url: address } = tool;
  if (label === undefined) throw missingField(`${path}.server_label`);
  if (address === undefined && registered === null) throw missingField(`${path}.server_url`);
  const url = parseServerUrl(address ?? registered?.url ?? '', `${path}.server_url`);
  const allowedTools = tool.allowed_tools ?? null;
  const requireApproval = tool.require_approval ?? registered?.requireApproval ?? 'always';
  const shownUrl = url.pathname === '/' && url.search === '' ? url.origin : `${url.origin}/<redacted>`;
  return {
    label,
    address: { url: url.href, headers: { ...registered?.headers, ...parseServerHeaders(tool, `${path}.`) } },
    allowedTools: [registered?.allowedTools ?? null, allowedTools],
    requireApproval,
    resolved: {
      type: 'mcp',
      server_label: label,
      ...(registered === null ? { server_url: shownUrl } : { connector_id: registered.id }),
      server_description: tool.server_description ?? registered?.description ?? null,
      allowed_tools: allowedTools,
      require_approval: requireApproval,
    },
  };
}

/** Whether `allowed_tools` of the registered server and of the request allow the tool. */
export function isAllowed(allowedTools: McpServerTool['allowedTools'], tool: McpTool): boolean {
  return allowedTools.every((allowed) => {
    if (allowed === null) return true;
    return matchesFilter(Array.isArray(allowed) ? { tool_names: allowed } : allowed, tool);
  });
}

/**
 * Whether a call of the tool waits for an approval. With filters: a tool that neither names needs one, unless only
 * `always` is given.
 */
export function needsApproval({ requireApproval }: McpServerTool, tool: McpTool): boolean {
  if (typeof requireApproval === 'string') return requireApproval === 'always';
  const { always, never } = requireApproval;
  if (always !== undefined && matchesFilter(always, tool)) return true;
  if (never !== undefined) return !matchesFilter(never, tool);
  return always === undefined;
}

function matchesFilter({ tool_names: names, read_only: isReadOnly }: McpToolFilter, tool: McpTool): boolean {
  if (names !== undefined && !names.includes(tool.name)) return false;
  return isReadOnly === undefined || (tool.annotations?.['readOnlyHint'] === true) === isReadOnly;
}
