import { GuardedHttp } from '../connectors/http/guarded-http.ts';
import type { McpAddress, McpConnection } from './mcp-connection.ts';

/** The connections of one response to MCP servers. */
export class McpConnections {
  readonly #allowedHosts: readonly string[] | null;
  readonly #connections = new Map<McpAddress, McpConnection>();
  #http: GuardedHttp | null = null;

  /** `allowedHosts`: the setting `QUIRE_ALLOW_PRIVATE_HOSTS`. */
  constructor(allowedHosts: readonly string[] | null) {
    this.#allowedHosts = allowedHosts;
  }

  /** Returns the connection to a server, which its first request opens. */
  async connection(address: McpAddress): Promise<McpConnection> {
    // The package of the protocol takes 200 ms to load.
    const { McpConnection } = await import('./mcp-connection.ts');
    this.#http ??= new GuardedHttp(this.#allowedHosts);
    const connection = this.#connections.get(address) ?? new McpConnection(this.#http, address);
    this.#connections.set(address, connection);
    return connection;
  }

  /** Ends all sessions and closes the connections. Never rejects. */
  async close(): Promise<void> {
    await Promise.all([...this.#connections.values()].map((connection) => connection.close()));
    await this.#http?.close().catch(() => {});
  }
}
