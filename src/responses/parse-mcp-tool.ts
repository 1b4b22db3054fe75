import { type Static, Type } from 'typebox';
import { invalidValue, missingField } from '../errors.ts';
import { MUST } from '../http/validation.ts';
import type { McpAddress } from '../mcp-servers/mcp-connection.ts';
import type { McpTool } from '../mcp-servers/mcp-tool.ts';

/** Headers that the client of the protocol sets itself, or that belong to one connection. */
const RESERVED_HEADERS: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'connection',
  'content-length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'last-event-id',
  'transfer-encoding',
  'upgrade',
]);
const MAX_HEADERS = 32;
/** Characters of all names and values of headers. */
const MAX_HEADER_CHARACTERS = 16_384;

/** Selects tools by name, or by the hint of the server that they only read. */
export const McpToolFilter = Type.Object(
  {
    tool_names: Type.Optional(Type.Array(Type.String(), { maxItems: 1_000 })),
    read_only: Type.Optional(
      Type.Boolean({ description: 'Whether the server says that the tool only reads (`readOnlyHint`).' }),
    ),
  },
  { additionalProperties: false },
);

export type McpToolFilter = Static<typeof McpToolFilter>;

const Label = Type.String({
  pattern: '^[A-Za-z][A-Za-z0-9_-]{0,63}$',
  [MUST]: "begin with a letter and have at most 64 letters, digits, '_' and '-'",
  description: 'Name of the server in items and calls; differs between the servers of a request.',
});

/** `allowed_tools` of an MCP server. */
export const McpAllowedTools = Type.Union([Type.Array(Type.String(), { maxItems: 1_000 }), McpToolFilter]);

/** `require_approval` of an MCP server. */
export const McpApproval = Type.Union([
  Type.Enum(['always', 'never']),
  Type.Object(
    { always: Type.Optional(McpToolFilter), never: Type.Optional(McpToolFilter) },
    { additionalProperties: false },
  ),
]);

/** Fields of a tool of the type `mcp`. */
export const McpToolFields = {
  server_label: Type.Optional(Label),
  server_url: Type.Optional(
    Type.String({ maxLength: 2_048, description: 'Address of the server: Streamable HTTP. Not stored as a whole.' }),
  ),
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
  server_url: Type.String({ description: 'Scheme and host; the path may authenticate its user.' }),
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
  allowedTools: Static<typeof McpAllowedTools> | null;
  requireApproval: Static<typeof McpApproval>;
  /** Names of the only tools that `tool_choice` allows; absent: all. */
  choosable?: readonly string[];
  /** The tool as the response shows it. */
  resolved: ResolvedMcpTool;
}

/** Parses a tool of the type `mcp`. Throws 400 with the dotted path. */
export function parseMcpServerTool(tool: McpRequestTool, path: string): McpServerTool {
  const { server_label: label, server_url: address } = tool;
  if (label === undefined) throw missingField(`${path}.server_label`);
  if (address === undefined) throw missingField(`${path}.server_url`);
  const url = URL.canParse(address) ? new URL(address) : null;
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:'))
    throw invalidValue(`${path}.server_url`, 'must be an http or https URL');
  if (url.username !== '' || url.password !== '')
    throw invalidValue(`${path}.server_url`, "must not contain a password; use 'authorization' or 'headers'");
  const allowedTools = tool.allowed_tools ?? null;
  const requireApproval = tool.require_approval ?? 'always';
  return {
    label,
    address: { url: url.href, headers: parseHeaders(tool, path) },
    allowedTools,
    requireApproval,
    resolved: {
      type: 'mcp',
      server_label: label,
      server_url: url.pathname === '/' && url.search === '' ? url.origin : `${url.origin}/<redacted>`,
      server_description: tool.server_description ?? null,
      allowed_tools: allowedTools,
      require_approval: requireApproval,
    },
  };
}

function parseHeaders({ headers = {}, authorization }: McpRequestTool, path: string): Record<string, string> {
  const entries = Object.entries(headers);
  const characters = entries.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  if (entries.length > MAX_HEADERS || characters > MAX_HEADER_CHARACTERS)
    throw invalidValue(
      `${path}.headers`,
      `must have at most ${MAX_HEADERS} headers with ${MAX_HEADER_CHARACTERS} characters`,
    );
  const parsed = new Headers();
  for (const [name, value] of entries) {
    const lowerCase = name.toLowerCase();
    if (RESERVED_HEADERS.has(lowerCase) || lowerCase.startsWith('mcp-'))
      throw invalidValue(`${path}.headers`, `must not contain '${lowerCase}', which the service sets`);
    try {
      parsed.set(name, value);
    } catch {
      // The message of the error quotes the value.
      throw invalidValue(`${path}.headers`, 'must be names and values of HTTP headers');
    }
  }
  if (authorization !== undefined) {
    if (parsed.has('authorization'))
      throw invalidValue(`${path}.authorization`, "cannot be combined with a header 'authorization'");
    try {
      parsed.set('authorization', `Bearer ${authorization}`);
    } catch {
      throw invalidValue(`${path}.authorization`, 'must be a value of an HTTP header');
    }
  }
  return Object.fromEntries(parsed);
}

/** Whether `allowed_tools` allows the tool. */
export function isAllowed(allowedTools: McpServerTool['allowedTools'], tool: McpTool): boolean {
  if (allowedTools === null) return true;
  return matchesFilter(Array.isArray(allowedTools) ? { tool_names: allowedTools } : allowedTools, tool);
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
