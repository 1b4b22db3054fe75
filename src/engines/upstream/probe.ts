import { Exchange, HttpExchangeError } from './http-exchange.ts';
import type { Replica } from './replicas.ts';
import type { UpstreamTimeouts } from './timeouts.ts';
import { isRecord } from './upstream-chunk.ts';

/** Maximum bytes of a model list: a router with thousands of models sends a megabyte. */
const MAX_LIST_BYTES = 4 * 1024 * 1024;

/** What an upstream reports about its model; null: not reported. */
export interface UpstreamModelInfo {
  /** Context length in tokens, as vLLM and SGLang report it. */
  contextLength: number | null;
  /** Such as `vllm` or `llamacpp`. */
  ownedBy: string | null;
}

/** Parameters of a probe. */
export interface ProbeContext {
  model: string;
  headers: Record<string, string>;
  timeouts: UpstreamTimeouts;
}

/**
 * Requests the model list of a replica. Resolves when it could generate, even without such a list; otherwise throws an
 * Error with a sentence for the operator, or the signal's reason.
 */
export async function probe(replica: Replica, context: ProbeContext, signal: AbortSignal): Promise<UpstreamModelInfo> {
  const { origin, models: path } = replica.endpoints;
  const { checkSeconds } = context.timeouts;
  const times = { firstByteSeconds: checkSeconds, idleSeconds: checkSeconds };
  const request = { origin, path, method: 'GET' as const, headers: context.headers, body: null, ...times };
  const exchange = new Exchange(replica.dispatcher, request, signal, () => {});
  try {
    const text = await exchange.text(await exchange.first(), MAX_LIST_BYTES);
    const { status } = exchange;
    if (status === 401 || status === 403)
      throw new Error(`The upstream at ${origin} rejects the API key (status ${status}).`);
    if (status >= 500) throw new Error(`The upstream at ${origin} returns status ${status}.`);
    return status === 200 ? parseModelInfo(text, context.model) : { contextLength: null, ownedBy: null };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof HttpExchangeError)) throw error;
    throw new Error(`The upstream at ${origin} does not answer: ${error.message}.`, { cause: error });
  }
}

function parseModelInfo(text: string, model: string): UpstreamModelInfo {
  const list = parseModelList(text);
  // A server with one model, such as llama-server, serves it under any name.
  const found = list.find((entry) => entry['id'] === model) ?? (list.length === 1 ? list[0] : undefined);
  const length = found?.['max_model_len'];
  const owner = found?.['owned_by'];
  return {
    contextLength: typeof length === 'number' && Number.isInteger(length) && length > 0 ? length : null,
    ownedBy: typeof owner === 'string' ? owner : null,
  };
}

function parseModelList(text: string): Record<string, unknown>[] {
  try {
    const parsed: unknown = JSON.parse(text);
    return isRecord(parsed) && Array.isArray(parsed['data']) ? parsed['data'].filter(isRecord) : [];
  } catch {
    // Some servers respond to this path with a page; they may well generate.
    return [];
  }
}
