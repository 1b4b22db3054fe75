import { after, before } from 'node:test';
import { bundledEmbedder, embeddedBy } from './embedder.ts';
import { type TestApi, useApi } from './harness.ts';
import { MemorySource, makeSource } from './ingestion.ts';
import { calls, playTurns, says } from './response-turns.ts';

/** A document. Its metadata field `words` is the number of its words. */
export const LIBRARY = 'The library in Ashford opens at nine.';
/** The other document. */
export const POOL = 'The pool in Ashford is heated to 27 degrees and opens at seven.';

/** An API with a knowledge base of two documents. */
export interface Town {
  api: TestApi;
  /** The id of the knowledge base. */
  base: string;
  /** Options of an OpenAI client. */
  openai(): { apiKey: string; baseURL: string };
  /** Lets the model search once and answer with `LIBRARY`. */
  play(): void;
}

/** Makes the knowledge base before the tests of a suite. Outside of one, its hooks would not wait for each other. */
export function useTown(): Town {
  const embedder = bundledEmbedder();
  after(() => embedder.close());
  const api = useApi(embeddedBy(embedder));
  const town: Town = {
    api,
    base: '',
    openai: () => ({ apiKey: api.key, baseURL: `${api.url}/v1` }),
    play: () => playTurns(api.engine, calls(['file_search', { query: 'When does Ashford open?' }]), says(LIBRARY)),
  };
  before(async () => {
    town.base = (await api.send('POST', '/v1/knowledge-bases', { body: { name: 'Town' } })).json.id;
    const source = new MemorySource();
    for (const [key, text] of Object.entries({ library: LIBRARY, pool: POOL })) source.items.set(key, text);
    const { queueJob, run: ingest } = await makeSource(api, town.base, source);
    await ingest(await queueJob());
  });
  return town;
}
