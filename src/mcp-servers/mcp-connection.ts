import {
  type CallToolResult,
  Client,
  isJSONRPCRequest,
  SdkHttpError,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import type { GuardedHttp } from '../connectors/http/guarded-http.ts';
import { isRecord } from '../lib/json.ts';
import { describeMcpError } from './describe-mcp-error.ts';
import { createGuardedFetch } from './guarded-fetch.ts';
import { McpFailure } from './mcp-error.ts';
import { type McpTool, parseMcpTool } from './mcp-tool.ts';

/** Time for connecting and listing tools: a user waits for the first token meanwhile. */
const LIST_TIMEOUT_MS = 20_000;
/** Time for one call of a tool, with connecting. */
const CALL_TIMEOUT_MS = 120_000;
/** Time for ending a session; the server ends it by itself later. */
const END_TIMEOUT_MS = 2_000;
/** Pages of a list, and its tools before any are selected. */
const MAX_PAGES = 20;
const MAX_LISTED_TOOLS = 1_000;

/** Address of a server, with the headers that authenticate requests. */
export interface McpAddress {
  url: string;
  /** Lower-case names. */
  headers: Readonly<Record<string, string>>;
}

/** Code of JSON-RPC for errors that an implementation defines. */
const SERVER_ERROR = -32_000;

/** Fails a request whose stream ends, or breaks for good, without a response. The client would wait for its timeout. */
class McpTransport extends StreamableHTTPClientTransport {
  override send(...[message, options]: Parameters<StreamableHTTPClientTransport['send']>): Promise<void> {
    if (Array.isArray(message) || !isJSONRPCRequest(message)) return super.send(message, options);
    const error = { code: SERVER_ERROR, message: 'The stream of the server ended without a response.' };
    const onRequestStreamEnd = () => this.onmessage?.({ jsonrpc: '2.0', id: message.id, error });
    return super.send(message, { ...options, onRequestStreamEnd });
  }
}

interface Session {
  client: Client;
  transport: McpTransport;
}

/** Accepts any result: each tool of a list is checked by itself, so that one bad tool does not spoil the others. */
const ANY_RESULT = {
  '~standard': { version: 1, vendor: 'quire', validate: (value: unknown) => ({ value }) },
} as const;

/**
 * A connection to an MCP server over Streamable HTTP, opened by the first request. Speaks the revision 2026-07-28 and
 * those with sessions. Throws `McpFailure`, and the reason of the signal.
 */
export class McpConnection {
  readonly #http: GuardedHttp;
  readonly #address: McpAddress;
  #session: Promise<Session> | null = null;

  constructor(http: GuardedHttp, address: McpAddress) {
    this.#http = http;
    this.#address = address;
  }

  /** Lists the tools of the server, each name once. */
  listTools(signal: AbortSignal): Promise<McpTool[]> {
    return this.#request(LIST_TIMEOUT_MS, signal, async ({ client }, deadline) => {
      const tools = new Map<string, McpTool>();
      let cursor: string | undefined;
      for (let page = 0; page < MAX_PAGES; page++) {
        const request = { method: 'tools/list', ...(cursor !== undefined && { params: { cursor } }) };
        const options = { signal: deadline, timeout: LIST_TIMEOUT_MS };
        const result: unknown = await client.request(request, ANY_RESULT, options);
        const { tools: listed, nextCursor } = isRecord(result) ? result : {};
        for (const tool of Array.isArray(listed) ? listed : []) {
          const parsed = parseMcpTool(tool);
          if (parsed !== null && !tools.has(parsed.name)) tools.set(parsed.name, parsed);
        }
        if (tools.size >= MAX_LISTED_TOOLS || typeof nextCursor !== 'string' || nextCursor === cursor) break;
        cursor = nextCursor;
      }
      return [...tools.values()].slice(0, MAX_LISTED_TOOLS);
    });
  }

  /** Calls a tool. A result that reports an error of the tool is a result. */
  callTool(tool: McpTool, args: Record<string, unknown>, signal: AbortSignal): Promise<CallToolResult> {
    return this.#request(CALL_TIMEOUT_MS, signal, ({ client }, deadline) =>
      client.callTool(
        { name: tool.name, arguments: args },
        {
          signal: deadline,
          timeout: CALL_TIMEOUT_MS,
          // Without the output schema: the result is for the model, and a server's schema may be costly to check.
          toolDefinition: { name: tool.name, inputSchema: { ...tool.input_schema, type: 'object' } },
        },
      ),
    );
  }

  /** Ends the session. Never rejects. */
  async close(): Promise<void> {
    const session = await this.#session?.catch(() => null);
    if (session == null) return;
    const { client, transport } = session;
    if (transport.sessionId !== undefined) {
      const ended = transport.terminateSession().catch(() => {});
      await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, END_TIMEOUT_MS).unref())]);
    }
    await client.close().catch(() => {});
  }

  async #request<T>(
    timeoutMs: number,
    signal: AbortSignal,
    send: (session: Session, deadline: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    for (let isRetry = false; ; isRetry = true) {
      this.#session ??= this.#open(deadline);
      const opening = this.#session;
      try {
        const session = await opening;
        return await send(session, deadline);
      } catch (error) {
        signal.throwIfAborted();
        // A failed handshake is not reused, and neither is a session that the server has dropped.
        const isDropped = error instanceof SdkHttpError && error.status === 404 && (await hasSession(opening));
        if ((isDropped || (await opening.catch(() => null)) === null) && this.#session === opening)
          this.#session = null;
        if (!isDropped || isRetry) throw new McpFailure(describeMcpError(error), error);
      }
    }
  }

  async #open(signal: AbortSignal): Promise<Session> {
    const { url, headers } = this.#address;
    const transport = new McpTransport(new URL(url), {
      fetch: createGuardedFetch(this.#http, CALL_TIMEOUT_MS),
      requestInit: { headers: { ...headers } },
    });
    const client = new Client(
      { name: 'quire', version: '1' },
      { versionNegotiation: { mode: 'auto' }, inputRequired: { autoFulfill: false } },
    );
    await client.connect(transport, { signal, timeout: LIST_TIMEOUT_MS });
    return { client, transport };
  }
}

async function hasSession(opening: Promise<Session>): Promise<boolean> {
  const session = await opening.catch(() => null);
  return session?.transport.sessionId !== undefined;
}
