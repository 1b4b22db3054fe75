/** The official client of the Model Context Protocol, over HTTP in both revisions and over stdio. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { MODELS, startAndStall, useBackends } from '../clients/backends.ts';
import { until } from '../deadline.ts';
import { metric } from '../metric.ts';

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

  it('names the errors of a tool and of a call, and needs a key', async () => {
    const client = new Client({ name: 'test', version: '1' });
    await client.connect(http());
    try {
      const failed = await client.callTool({ name: 'ask', arguments: { question: 'a', model: 'none' } });
      assert.equal(failed.isError, true);
      const { message: _, ...error } = { ...(failed._meta?.['quire/error'] as Record<string, unknown>) };
      assert.deepEqual(error, { type: 'not_found_error', code: 'model_not_found', param: 'model', status: 404 });
      await assert.rejects(client.readResource({ uri: 'quire://documents/kb_x/doc_x' }), /kb_x/);
    } finally {
      await client.close();
    }
    const stranger = new StreamableHTTPClientTransport(new URL(`${backends.service.url}/mcp`));
    await assert.rejects(new Client({ name: 'test', version: '1' }).connect(stranger), /invalid_api_key/);
  });

  // A client of the revision 2025-11-25 cancels by another message, which a service without sessions cannot relate to
  // the call.
  it('aborts a call, which frees the engine, 2026-07-28', async () => {
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } });
    await client.connect(http());
    const inFlight = () => metric(backends.service.url, 'quire_generations_in_flight');
    try {
      backends.play(startAndStall);
      const controller = new AbortController();
      const call = client.callTool(
        { name: 'ask', arguments: { question: 'How many bicycles?', model: MODELS.scripted } },
        { signal: controller.signal },
      );
      call.catch(() => {});
      await until(async () => (await inFlight()) > 0);
      controller.abort(new Error('enough'));
      await assert.rejects(call, /enough|abort/i);
      await until(async () => (await inFlight()) === 0);
    } finally {
      await client.close();
    }
  });
});
