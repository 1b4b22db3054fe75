import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { bundledEmbedder, embeddedBy } from '../../../test/embedder.ts';
import { useApi } from '../../../test/harness.ts';
import { MemorySource, makeSource } from '../../../test/ingestion.ts';
import { readDocument } from '../../extraction/read-document.ts';

const embedder = bundledEmbedder();
after(() => embedder.close());
const api = useApi(embeddedBy(embedder));

/** 200 rows of which a search finds ten at most; the lowest fee is in the last. */
const FEES = [
  'Berth,Quay,Day fee',
  ...Array.from({ length: 200 }, (_, i) => `Berth ${i + 1},${i % 2 ? 'North quay' : 'Outer mole'},${300 - i}.50`),
].join('\n');

describe('questions about tables with an engine that selects from documents', () => {
  let base = '';
  before(async () => {
    base = (await api.send('POST', '/v1/knowledge-bases', { body: { name: 'Harbour' } })).json.id;
    const source = new MemorySource();
    source.items.set('fees', FEES).set('rules', 'The harbour office opens at nine. Day fees are paid there.');
    const { deps, queueJob, run } = await makeSource(api, base, source);
    deps.extractor = {
      async *extract({ content }) {
        const bytes = Buffer.concat(await Array.fromAsync(content, (piece) => Buffer.from(piece)));
        const input = { content: bytes, bytes: bytes.length, charset: null, chunkCharacters: 1_000 };
        yield* readDocument(bytes.includes(',') ? 'csv' : 'text', input);
      },
    };
    await run(await queueJob());
  });
  const ask = async (content: string) => {
    const { features } = api.engine;
    api.engine.features = () => ({ ...features.call(api.engine), documentMode: () => 'selective' });
    const body = { model: 'general-8b', messages: [{ role: 'user', content }], knowledge_bases: [base] };
    const { json } = await api.send('POST', '/v1/chat/completions', { body });
    api.engine.features = features;
    const prompt = api.engine.calls.at(-1)?.request.prompt;
    assert.ok(prompt?.kind === 'chat');
    return { results: json.knowledge_base_context.results, documents: prompt.documents ?? [] };
  };

  it('computes the answer over all rows of the table, and cites the cell', async () => {
    const { documents, results } = await ask('What is the lowest day fee at the outer mole?');
    const [computed, ...others] = documents;
    assert.equal(computed?.isComputed, true);
    assert.match(computed.text, /^Lowest Day fee: \*\*102\.50\*\*\n\n[\s\S]*\| Berth 199 \| Outer mole \| 102\.50 \|/);
    assert.ok(others.length > 0 && others.every(({ isComputed }) => isComputed === undefined));
    assert.equal(results[0].cells, 'C200');
  });

  it('leaves other questions to the engine', async () => {
    for (const question of ['When does the harbour office open?', 'What is the lowest day fee in winter?']) {
      const { documents } = await ask(question);
      assert.ok(documents.length > 0 && documents.every(({ isComputed }) => isComputed === undefined), question);
    }
  });
});
