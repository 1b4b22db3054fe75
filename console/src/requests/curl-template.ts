/** The body of a request to a route, with a placeholder for its texts; null for routes without one. */
export function sampleRequest(route: string, model: string | null): Record<string, unknown> | null {
  const named = { model: model ?? 'general-8b' };
  const messages = [{ role: 'user', content: '…' }];
  const bodies: Readonly<Record<string, Record<string, unknown>>> = {
    '/v1/chat/completions': { ...named, messages },
    '/v1/messages': { ...named, max_tokens: 1024, messages },
    '/v1/responses': { ...named, input: '…' },
    '/v1/completions': { ...named, prompt: '…' },
    '/v1/embeddings': { ...named, input: '…' },
    '/v1/moderations': { ...named, input: '…' },
    '/v1/rerank': { ...named, query: '…', documents: ['…'] },
  };
  return bodies[route] ?? null;
}
