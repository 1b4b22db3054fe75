/** Where an upstream's endpoints are. */
export interface Endpoints {
  /** Scheme, host and port, such as `https://models.example:8443`. */
  origin: string;
  /** Paths with the base URL's query, if it has one. */
  chat: string;
  text: string;
  models: string;
  moderations: string;
  embeddings: string;
  rerank: string;
  /** Text Embeddings Inference's, which stands beside `/v1` and not under it. */
  rerankTexts: string;
  /** Beside `/v1` too: vLLM's, llama-server's and Text Embeddings Inference's, and what the last says of itself. */
  tokenize: string;
  info: string;
}

/**
 * The endpoints behind a base URL, which is what stands before `/chat/completions`: `http://gpu:8000/v1`,
 * `https://gateway.example/openai/v1?api-version=2`. `/v1` is added when the URL has no path, so that `http://gpu:8000`
 * is enough. Throws a TypeError when the text is no http or https URL.
 */
export function parseEndpoints(baseUrl: string): Endpoints {
  const url = new URL(baseUrl);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new TypeError(`The base URL of a model's server begins with http:// or https://, not ${url.protocol}`);
  }
  const path = url.pathname.replace(/\/+$/, '');
  const base = path === '' ? '/v1' : path;
  const beside = base.replace(/\/v1$/, '');
  return {
    origin: url.origin,
    chat: `${base}/chat/completions${url.search}`,
    text: `${base}/completions${url.search}`,
    models: `${base}/models${url.search}`,
    moderations: `${base}/moderations${url.search}`,
    embeddings: `${base}/embeddings${url.search}`,
    rerank: `${base}/rerank${url.search}`,
    rerankTexts: `${beside}/rerank${url.search}`,
    tokenize: `${beside}/tokenize${url.search}`,
    info: `${beside}/info${url.search}`,
  };
}
