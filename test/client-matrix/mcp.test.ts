/** The official client of the Model Context Protocol, over HTTP in both revisions and over stdio. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { useBackends } from '../clients/backends.ts';
import { until } from '../deadline.ts';

const START_FILE = fileURLToPath(new URL('../../src/start.js', import.meta.url));
const FERRY = 'The ferry takes twelve bicycles at most.';

const backends = useBackends();
const http = () =>
  new StreamableHTTPClientTransport(new URL(`${backends.service.url}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${backends.service.key}` } },
  });
const stdio = () =>
  new StdioClientTransport({
    command: process.execPath,
    args: [START_FILE, 'mcp'],
    env: { ...process.env, QUIRE_URL: backends.service.url, QUIRE_API_KEY: backends.service.key } as Record<
      string,
      string
    >,
  });

async function send(path: string, body?: object): Promise<Record<string, unknown>> {
  const headers = { authorization: `Bearer ${backends.service.key}`, 'content-type': 'application/json' };
  const init = body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) };
  return (await (await fetch(`${backends.service.url}${path}`, init)).json()) as Record<string, unknown>;
}

describe('@modelcontextprotocol/client', () => {
  before(async () => {
    const { id } = await send('/v1/knowledge-bases', { name: 'Harbour' });
    await send(`/v1/knowledge-bases/${id}/documents`, { key: 'ferry', text: FERRY });
    await until(async () => (await send(`/v1/knowledge-bases/${id}`))['chunk_count'] === 1);
  });

  for (const [name, transport, mode, version] of [
    ['over HTTP', http, 'legacy', '2025-11-25'],
    ['over HTTP', http, 'auto', '2026-07-28'],
    ['over stdio', stdio, 'legacy', '2025-11-25'],
  ] as const) {
    it(`lists the tools, searches, reads a document, and asks with progress ${name}, ${version}`, async () => {
      const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
      await client.connect(transport());
      try {
        assert.equal(client.getNegotiatedProtocolVersion(), version);
        const { tools } = await client.listTools();
        assert.deepEqual(
          tools.map((tool) => tool.name),
          ['list_knowledge_bases', 'search', 'fetch', 'ask', 'add_document'],
        );
        const search = await client.callTool({ name: 'search', arguments: { query: 'how many bicycles' } });
        const { results } = search.structuredContent as { results: { id: string; text: string }[] };
        assert.equal(results[0]?.text, FERRY);
        const fetched = await client.callTool({ name: 'fetch', arguments: { id: results[0]?.id } });
        assert.equal((fetched.structuredContent as { text: string }).text, FERRY);
        const progress: number[] = [];
        const question = 'How many bicycles does the ferry take?';
        const answer = await client.callTool(
          { name: 'ask', arguments: { question, model: 'general-8b' } },
          { onprogress: (event) => void progress.push(event.progress) },
        );
        assert.match((answer.structuredContent as { answer: string }).answer, /twelve/);
        assert.deepEqual(progress, [0, 1]);
        const { resources } = await client.listResources();
        const read = await client.readResource({ uri: resources[0]?.uri ?? '' });
        assert.equal((read.contents[0] as { text: string }).text, FERRY);
      } finally {
        await client.close();
      }
    });
  }
});
