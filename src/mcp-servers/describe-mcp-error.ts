import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client';
import { IngestionError } from '../extraction/ingestion-error.ts';
import { truncateText } from '../lib/truncate.ts';
import type { McpRequestError } from './mcp-error.ts';

/** Characters of a message of a server that an error quotes. */
const MAX_MESSAGE_CHARACTERS = 300;
/** Statuses of HTTP for errors without a response. */
const BAD_GATEWAY = 502;
const GATEWAY_TIMEOUT = 504;

/** Describes why a request to an MCP server failed: what the client throws is caused by the server or the network. */
export function describeMcpError(error: unknown): McpRequestError {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof IngestionError) return httpError(networkStatus(cause), cause.message);
    if (cause instanceof SdkHttpError) {
      const { text } = cause.data;
      const detail = typeof text === 'string' && text.trim() !== '' ? `: ${text.trim()}` : '.';
      return httpError(cause.status, `The server answered with status ${cause.status}${detail}`);
    }
    if (cause instanceof ProtocolError) {
      return { type: 'mcp_protocol_error', code: cause.code, message: quote(cause.message) };
    }
    if (cause instanceof SdkError && cause.code === SdkErrorCode.RequestTimeout)
      return httpError(GATEWAY_TIMEOUT, 'The server did not answer in time.');
    if (cause.name === 'TimeoutError') return httpError(GATEWAY_TIMEOUT, 'The server did not answer in time.');
  }
  const message = error instanceof SdkError ? error.message : 'The server sent a response that cannot be read.';
  return httpError(BAD_GATEWAY, message);
}

function networkStatus({ code }: IngestionError): number {
  if (code === 'blocked_url') return 403;
  return code === 'timeout' ? GATEWAY_TIMEOUT : BAD_GATEWAY;
}

function httpError(code: number, message: string): McpRequestError {
  return { type: 'http_error', code, message: quote(message) };
}

const quote = (message: string): string => truncateText(message.toWellFormed(), MAX_MESSAGE_CHARACTERS);
