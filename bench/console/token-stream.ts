import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** Markdown of every kind that the playground renders, in the proportions of a usual long answer. */
const SECTION = `## Opening the workshop

The workshop opens at **eight** every weekday, and the *last* repair is taken at half past five; see \`hours.md\` or [the site](https://example.com/hours).

1. Bring the bicycle and the receipt.
2. Describe what is broken, with a photograph if there is one.
   - A broken spoke is covered.
   - A worn chain is not.

| Part | Price | Days |
|---|---:|---:|
| Spoke | 4 | 1 |
| Chain | 24 | 2 |

> Repairs under guarantee cost nothing.

\`\`\`ts
export const price = (parts: readonly Part[]): number => parts.reduce((sum, { cost }) => sum + cost, 0);
\`\`\`

`;
/** Characters of a token: the mean of English text. */
const TOKEN_CHARACTERS = 4;

/** An OpenAI-style server that streams Markdown at a constant rate. */
export interface TokenServer {
  /** Ends in `/v1`. */
  baseUrl: string;
  close(): Promise<void>;
}

/** Starts the server. Tokens that a delayed timer missed are sent together, so that the rate holds. */
export async function startTokenServer(tokensPerSecond: number, seconds: number): Promise<TokenServer> {
  const server = createServer((request, response) => {
    request.resume();
    if (request.method !== 'POST') return void response.writeHead(404).end('{}');
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    void stream(response, tokensPerSecond, seconds).finally(() => response.end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function stream(response: ServerResponse, tokensPerSecond: number, seconds: number): Promise<void> {
  const total = tokensPerSecond * seconds;
  const send = (value: object) => response.write(`data: ${JSON.stringify(value)}\n\n`);
  const chunk = (delta: object, reason: string | null = null) =>
    send({ choices: [{ index: 0, delta, finish_reason: reason }] });
  const startedAt = performance.now();
  let sent = 0;
  while (sent < total && !response.destroyed) {
    const due = Math.min(total, Math.floor(((performance.now() - startedAt) / 1000) * tokensPerSecond));
    for (; sent < due; sent += 1) chunk({ content: token(sent) });
    await delay(1);
  }
  chunk({}, 'stop');
  send({ choices: [], usage: { prompt_tokens: 20, completion_tokens: total } });
  response.write('data: [DONE]\n\n');
}

function token(index: number): string {
  const at = (index * TOKEN_CHARACTERS) % SECTION.length;
  return SECTION.slice(at, at + TOKEN_CHARACTERS);
}
