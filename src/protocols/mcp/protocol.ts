/** Errors of the Model Context Protocol: JSON-RPC 2.0. */
import { Type } from 'typebox';
import type { ApiError } from '../../errors.ts';
import { OPENAI_STREAM, type Protocol } from '../../http/protocol.ts';

/** Codes of JSON-RPC 2.0, section 5.1. `SERVER_ERROR` is the first of those that servers define. */
const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;
const INTERNAL_ERROR = -32_603;
const SERVER_ERROR = -32_000;

const McpError = Type.Object(
  {
    jsonrpc: Type.Literal('2.0'),
    id: Type.Null({ description: 'The message was rejected before it was read as a request.' }),
    error: Type.Object({
      code: Type.Integer({ description: 'Code of JSON-RPC.' }),
      message: Type.String(),
      data: Type.Object(
        {
          type: Type.String(),
          code: Type.String({ description: 'Identifies the error, as on the other routes.' }),
          param: Type.Union([Type.String(), Type.Null()], { description: 'Dotted path of the invalid field.' }),
          request_id: Type.String(),
        },
        { description: 'The error as on the other routes.' },
      ),
    }),
  },
  { title: 'McpErrorResponse' },
);

/** How `/mcp` renders errors of a whole message. Errors of a tool are results, which the model reads. */
export const MCP: Protocol = {
  errorBody: (error, requestId) => {
    const { message, ...data } = error.body().error;
    return {
      jsonrpc: '2.0',
      id: null,
      error: { code: rpcCode(error), message, data: { ...data, request_id: requestId } },
    };
  },
  errorSchema: McpError,
  // The handler of the protocol package writes the streams of this route.
  stream: OPENAI_STREAM,
};

function rpcCode({ status, code }: ApiError): number {
  if (code === 'invalid_json') return PARSE_ERROR;
  if (status >= 500) return INTERNAL_ERROR;
  return status === 400 || status === 413 ? INVALID_REQUEST : SERVER_ERROR;
}
