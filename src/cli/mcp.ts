import { createInterface } from 'node:readline';
import { SseParser } from '../lib/sse-parser.ts';
import { type ApiClient, openApiClient } from './api-client.ts';
import { CliCommand } from './command.ts';

/** `quire mcp`. */
export function mcpCommand(): CliCommand {
  return new CliCommand('mcp')
    .description('Serve the knowledge bases to a desktop client over stdio (Model Context Protocol).')
    .examples('mcp')
    .action(async () => {
      const lines = createInterface({ input: process.stdin });
      await bridge(await openApiClient(), lines, (line) => process.stdout.write(`${line}\n`));
    });
}

/** A message of JSON-RPC, as far as the bridge reads it. */
interface Message {
  id?: string | number;
  method?: string;
  params?: {
    name?: string;
    uri?: string;
    requestId?: string | number;
    _meta?: Record<string, unknown>;
  };
  result?: { protocolVersion?: string };
}

/** Codes of JSON-RPC. */
const PARSE_ERROR = -32_700;
const SERVER_ERROR = -32_000;

const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';

/**
 * Sends each line to `/mcp` of the service, and writes the messages of each response as lines. Requests run
 * concurrently. Resolves when the input has ended and every request is answered.
 */
export async function bridge(
  api: Pick<ApiClient, 'send'>,
  lines: AsyncIterable<string>,
  write: (line: string) => void,
): Promise<void> {
  const running = new Map<string | number | undefined, AbortController>();
  const pending = new Set<Promise<void>>();
  let negotiatedVersion: string | undefined;
  const fail = (id: Message['id'] | null, code: number, message: string) =>
    write(JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } }));
  const forward = async (message: Message) => {
    const controller = new AbortController();
    running.set(message.id, controller);
    try {
      const headers = describeMessage(message, negotiatedVersion);
      const response = await api.send('POST', '/mcp', message, { headers, signal: controller.signal });
      for await (const text of readMessages(response)) {
        if (message.method === 'initialize')
          negotiatedVersion = (JSON.parse(text) as Message).result?.protocolVersion ?? negotiatedVersion;
        write(text);
      }
    } catch (error) {
      if (message.id !== undefined && !controller.signal.aborted)
        fail(message.id, SERVER_ERROR, error instanceof Error ? error.message : String(error));
    } finally {
      running.delete(message.id);
    }
  };
  for await (const line of lines) {
    if (line.trim() === '') continue;
    const message = parseMessage(line);
    if (message === null) fail(null, PARSE_ERROR, 'The line is not a message of JSON-RPC.');
    // The service keeps no sessions: a request is cancelled by its connection.
    else if (message.method === 'notifications/cancelled') running.get(message.params?.requestId)?.abort();
    else {
      const forwarded = forward(message).finally(() => pending.delete(forwarded));
      pending.add(forwarded);
      // Later messages name the version that this one negotiates.
      if (message.method === 'initialize') await forwarded;
    }
  }
  await Promise.all(pending);
}

function parseMessage(line: string): Message | null {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

/** Headers that Streamable HTTP requires beside the message. */
function describeMessage({ method, params }: Message, negotiatedVersion: string | undefined): Record<string, string> {
  const { [VERSION_KEY]: ownVersion = negotiatedVersion } = params?._meta ?? {};
  const name = params?.name ?? params?.uri;
  return {
    accept: 'application/json, text/event-stream',
    ...(ownVersion !== undefined && { 'mcp-protocol-version': String(ownVersion) }),
    ...(method !== undefined && { 'mcp-method': method }),
    ...(name !== undefined && { 'mcp-name': name }),
  };
}

async function* readMessages(response: Response): AsyncGenerator<string> {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
    const text = await response.text();
    if (text !== '') yield text;
    return;
  }
  const parser = new SseParser();
  for await (const chunk of response.body ?? []) yield* parser.push(chunk).filter((data) => data !== '');
  yield* parser.end().filter((data) => data !== '');
}
