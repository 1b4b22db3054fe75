/** An API that upstreams speak: OpenAI's, or Anthropic's Messages. */
export type UpstreamProtocol = 'openai' | 'anthropic';

/** Version of Anthropic's API. */
const ANTHROPIC_VERSION = '2023-06-01';

/** Returns the headers that a protocol requires, with the API key unless it is null. */
export function protocolHeaders(protocol: UpstreamProtocol, apiKey: string | null): Record<string, string> {
  if (protocol === 'openai') return apiKey === null ? {} : { authorization: `Bearer ${apiKey}` };
  return { 'anthropic-version': ANTHROPIC_VERSION, ...(apiKey !== null && { 'x-api-key': apiKey }) };
}
