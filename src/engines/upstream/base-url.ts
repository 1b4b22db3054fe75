/** Endpoints of an upstream. */
export interface Endpoints {
  /** Scheme, host and port, such as `https://models.example:8443`. */
  origin: string;
  /** Paths, with the query of the base URL. */
  chat: string;
  text: string;
  /** Anthropic's Messages, and the count of their tokens. */
  messages: string;
  messageTokens: string;
  models: string;
  moderations: string;
  embeddings: string;
  rerank: string;
  /** Rerank endpoint of Text Embeddings Inference, next to `/v1`. */
  rerankTexts: string;
  /**
   * Endpoints next to `/v1`: tokenizers of vLLM, llama-server and Text Embeddings Inference, and the server description
   * of the latter.
   */
  tokenize: string;
  info: string;
  /** Properties of llama-server. */
  props: string;
}

/**
 * Derives the endpoints from a base URL, the part before `/chat/completions`: `http://gpu:8000/v1`,
 * `https://gateway.example/openai/v1?api-version=2`. Adds `/v1` to URLs without a path. Throws a TypeError for anything
 * but an http or https URL.
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
    messages: `${base}/messages${url.search}`,
    messageTokens: `${base}/messages/count_tokens${url.search}`,
    models: `${base}/models${url.search}`,
    moderations: `${base}/moderations${url.search}`,
    embeddings: `${base}/embeddings${url.search}`,
    rerank: `${base}/rerank${url.search}`,
    rerankTexts: `${beside}/rerank${url.search}`,
    tokenize: `${beside}/tokenize${url.search}`,
    info: `${beside}/info${url.search}`,
    props: `${beside}/props${url.search}`,
  };
}
