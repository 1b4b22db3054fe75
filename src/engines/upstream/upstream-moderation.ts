import type { ServerState } from '../engine.ts';
import type { Moderation, ModerationEngine } from '../moderation-engine.ts';
import type { JsonRequest } from './json-request.ts';
import { parseModeration } from './moderation-response.ts';
import { UpstreamClient, type UpstreamClientOptions } from './upstream-client.ts';

/** Maximum bytes of a response: a thousand results with many category names have one or two megabytes. */
const MAX_RESPONSE_BYTES = 32 * 1024 * 1024;

/** Creates a moderation engine on OpenAI-style servers (`/moderations`). Throws a TypeError for an invalid base URL. */
export function createUpstreamModeration(
  options: UpstreamClientOptions,
): ModerationEngine & { servers(): ServerState[] } {
  const server = new UpstreamClient(options);
  return {
    backend: () => server.backend(),
    moderate: (texts: readonly string[], signal: AbortSignal, scope = ''): Promise<Moderation> => {
      const jsonRequest: JsonRequest = {
        endpoint: 'moderations',
        body: JSON.stringify({ model: server.model, input: texts }),
        param: 'input',
        maxResponseBytes: MAX_RESPONSE_BYTES,
      };
      return server.withAdmission(scope, signal, (call) =>
        server.sendJsonRequest(jsonRequest, (response) => parseModeration(response, texts), call),
      );
    },
    check: (signal) => server.check(signal),
    servers: () => server.servers(),
    close: () => server.close(),
  };
}
