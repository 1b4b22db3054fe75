/**
 * The yardstick as a process: an encoder in ONNX Runtime behind the three routes that are measured.
 * `node encoder-server.ts FILE THREADS`; prints `listening on ORIGIN`.
 */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { MAX_TOKENS, VOCABULARY } from './encoder.ts';
import { Batcher } from './encoder-batcher.ts';
import { loadOnnxRuntime } from './onnx-runtime.ts';

/** The tokens before and after a text, and between a query and a document. */
const START = 101;
const END = 102;

interface Body {
  input?: string | string[];
  query?: string;
  documents?: string[];
}

const [file = '', threads = '1'] = process.argv.slice(2);
const runtime = loadOnnxRuntime();
const options = { intraOpNumThreads: Number(threads), interOpNumThreads: 1, graphOptimizationLevel: 'all' };
const batcher = new Batcher(runtime, await runtime.InferenceSession.create(file, options));

/** A word is a token, as in the texts of this benchmark every word is of any English vocabulary. */
function tokensOf(...texts: string[]): number[] {
  const tokens = [START];
  for (const text of texts) {
    for (const word of text.split(' ')) tokens.push(idOf(word));
    tokens.push(END);
  }
  return tokens.length > MAX_TOKENS ? [...tokens.slice(0, MAX_TOKENS - 1), END] : tokens;
}

function idOf(word: string): number {
  let hash = 0;
  for (let i = 0; i < word.length; i++) hash = (Math.imul(hash, 31) + word.charCodeAt(i)) >>> 0;
  return hash % VOCABULARY;
}

async function answer(path: string, { input = [], query = '', documents = [] }: Body): Promise<object> {
  const texts =
    documents.length > 0
      ? documents.map((text) => tokensOf(query, text))
      : [input].flat().map((text) => tokensOf(text));
  const outcomes = await Promise.all(texts.map((tokens) => batcher.encode(tokens)));
  if (path === '/v1/embeddings') {
    const base64 = (vector: Float32Array): string =>
      Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString('base64');
    return { data: outcomes.map(({ vector }, index) => ({ index, embedding: base64(vector) })) };
  }
  return { results: outcomes.map(({ score }, index) => ({ index, score: 1 / (1 + Math.exp(-score)) })) };
}

async function bodyOf(request: IncomingMessage): Promise<Body> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return JSON.parse(Buffer.concat(pieces).toString('utf8')) as Body;
}

const server = createServer(async (request, reply) => {
  try {
    const text = JSON.stringify(await answer(request.url ?? '', await bodyOf(request)));
    reply.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }).end(text);
  } catch (error) {
    reply.writeHead(500, { 'content-length': 0 }).end();
    console.error(error);
  }
});
// On a busy machine a client may take longer than the usual five seconds to send its next request.
server.keepAliveTimeout = 0;
server.listen(0, '127.0.0.1', () =>
  console.log(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`),
);
