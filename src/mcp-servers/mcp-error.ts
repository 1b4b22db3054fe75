import { type Static, Type } from 'typebox';
import { titleSchemas } from '../lib/title-schemas.ts';

const failure = { code: Type.Integer(), message: Type.String() };

/** Why a call of a tool failed: in the protocol, in HTTP, or in the tool. */
export const McpCallError = Type.Union([
  Type.Object({ type: Type.Literal('mcp_protocol_error'), ...failure }),
  Type.Object({ type: Type.Literal('http_error'), ...failure }),
  Type.Object({ type: Type.Literal('mcp_tool_execution_error'), content: Type.Unknown() }),
]);

export type McpCallError = Static<typeof McpCallError>;

titleSchemas({ McpCallError });

/** An error of a request to an MCP server. */
export type McpRequestError = Exclude<McpCallError, { type: 'mcp_tool_execution_error' }>;

/** A request to an MCP server failed, which the server or the network has caused. */
export class McpFailure extends Error {
  override readonly name = 'McpFailure';
  readonly error: McpRequestError;

  constructor(error: McpRequestError, cause: unknown) {
    super(error.message, { cause });
    this.error = error;
  }
}

/** The text of an error for a model and for the list of tools. */
export function describeCallError(error: McpCallError): string {
  return error.type === 'mcp_tool_execution_error' ? String(error.content) : error.message;
}
