import { type Static, Type } from 'typebox';
import { invalidValue } from '../errors.ts';
import { MUST } from '../http/validation.ts';

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

/** Name of a server in requests, items and names of functions. */
export const ServerLabel = Type.String({
  pattern: '^[A-Za-z][A-Za-z0-9_-]{0,63}$',
  [MUST]: "begin with a letter and have at most 64 letters, digits, '_' and '-'",
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

/** What authenticates requests to a server. */
export interface ServerCredentials {
  headers?: Readonly<Record<string, string>>;
  authorization?: string;
}

/** Parses the address of a server. Throws 400 naming `path` unless it is an http or https URL without a password. */
export function parseServerUrl(address: string, path: string): URL {
  const url = URL.canParse(address) ? new URL(address) : null;
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:'))
    throw invalidValue(path, 'must be an http or https URL');
  if (url.username !== '' || url.password !== '')
    throw invalidValue(path, "must not contain a password; use 'authorization' or 'headers'");
  return url;
}

/** Parses headers and a token to headers with lower-case names. Throws 400 naming the field below `path`. */
export function parseServerHeaders(
  { headers = {}, authorization }: ServerCredentials,
  path: string,
): Record<string, string> {
  const entries = Object.entries(headers);
  const characters = entries.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  if (entries.length > MAX_HEADERS || characters > MAX_HEADER_CHARACTERS)
    throw invalidValue(
      `${path}headers`,
      `must have at most ${MAX_HEADERS} headers with ${MAX_HEADER_CHARACTERS} characters`,
    );
  const parsed = new Headers();
  for (const [name, value] of entries) {
    const lowerCase = name.toLowerCase();
    if (RESERVED_HEADERS.has(lowerCase) || lowerCase.startsWith('mcp-'))
      throw invalidValue(`${path}headers`, `must not contain '${lowerCase}', which the service sets`);
    try {
      parsed.set(name, value);
    } catch {
      // The message of the error quotes the value.
      throw invalidValue(`${path}headers`, 'must be names and values of HTTP headers');
    }
  }
  if (authorization !== undefined) {
    if (parsed.has('authorization'))
      throw invalidValue(`${path}authorization`, "cannot be combined with a header 'authorization'");
    try {
      parsed.set('authorization', `Bearer ${authorization}`);
    } catch {
      throw invalidValue(`${path}authorization`, 'must be a value of an HTTP header');
    }
  }
  return Object.fromEntries(parsed);
}
