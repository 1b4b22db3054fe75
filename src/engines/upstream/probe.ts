import { isRecord, parseJson } from '../../lib/json.ts';
import { Exchange, HttpExchangeError } from './http-exchange.ts';
import type { Replica } from './replicas.ts';
import type { UpstreamTimeouts } from './timeouts.ts';
import type { UpstreamProtocol } from './upstream-protocol.ts';

/** Maximum bytes of a model list: a router with thousands of models sends a megabyte. */
const MAX_LIST_BYTES = 4 * 1024 * 1024;

/** What an upstream reports about its model; null: not reported. */
export interface UpstreamModelInfo {
  /** Context length in tokens, as vLLM, SGLang and llama-server report it. */
  contextLength: number | null;
  /** Maximum tokens of a completion, as Anthropic reports it. */
  outputTokens: number | null;
  /** Such as `vllm` or `llamacpp`. */
  ownedBy: string | null;
  /** The name of the weights, which vLLM serves under another one; else the listed name. */
  weights: string | null;
}

/** Before the first probe, and of servers without a list of models. */
export const NOT_REPORTED: UpstreamModelInfo = {
  contextLength: null,
  outputTokens: null,
  ownedBy: null,
  weights: null,
};

/** Parameters of a probe. */
export interface ProbeContext {
  model: string;
  protocol: UpstreamProtocol;
  headers: Record<string, string>;
  timeouts: UpstreamTimeouts;
}

/**
 * Requests the models of a replica, and the properties of a llama-server. Resolves when it could generate, even
 * without such a list; otherwise throws an Error with a sentence for the operator, or the signal's reason.
 */
export async function probe(replica: Replica, context: ProbeContext, signal: AbortSignal): Promise<UpstreamModelInfo> {
  const { origin, props } = replica.endpoints;
  try {
    const { status, text } = await get(replica, modelPath(replica, context), context, signal);
    if (status === 401 || status === 403)
      throw new Error(`The upstream at ${origin} rejects the API key (status ${status}).`);
    if (status >= 500) throw new Error(`The upstream at ${origin} returns status ${status}.`);
    const info = status === 200 ? parseModelInfo(text, context.model) : NOT_REPORTED;
    if (info.contextLength !== null || info.ownedBy !== 'llamacpp') return info;
    const properties = await get(replica, props, context, signal);
    return { ...info, contextLength: properties.status === 200 ? parseSlotContext(properties.text) : null };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof HttpExchangeError)) throw error;
    throw new Error(`The upstream at ${origin} does not answer: ${error.message}.`, { cause: error });
  }
}

/** A model that a server lists. */
export interface ListedModel {
  id: string;
  /** In tokens; null: not reported. */
  contextLength: number | null;
}

/**
 * Returns the models that a replica lists, at most `max`. Throws an Error with a sentence for the operator when it does
 * not respond, rejects the key, or has no such list.
 */
export async function listServerModels(
  replica: Replica,
  context: ProbeContext,
  max: number,
  signal: AbortSignal,
): Promise<ListedModel[]> {
  const { origin, models } = replica.endpoints;
  try {
    const { status, text } = await get(replica, models, context, signal);
    if (status === 401 || status === 403)
      throw new Error(`The upstream at ${origin} rejects the API key (status ${status}).`);
    if (status !== 200) throw new Error(`The upstream at ${origin} has no list of models (status ${status}).`);
    return parseModelList(text)
      .flatMap((entry) => (typeof entry['id'] === 'string' ? [{ id: entry['id'], ...readLimits(entry) }] : []))
      .slice(0, max);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof HttpExchangeError)) throw error;
    throw new Error(`The upstream at ${origin} does not answer: ${error.message}.`, { cause: error });
  }
}

/** The list of models; at Anthropic the model itself, because its list has pages and no aliases. */
function modelPath({ endpoints: { models } }: Replica, { protocol, model }: ProbeContext): string {
  return protocol === 'openai' ? models : models.replace(/(?=\?|$)/, `/${encodeURIComponent(model)}`);
}

async function get(replica: Replica, path: string, { headers, timeouts }: ProbeContext, signal: AbortSignal) {
  const { checkSeconds } = timeouts;
  const times = { firstByteSeconds: checkSeconds, idleSeconds: checkSeconds };
  const { origin } = replica.endpoints;
  const request = { origin, path, method: 'GET' as const, headers, body: null, ...times };
  const exchange = new Exchange(replica.dispatcher, request, signal, () => {});
  const text = await exchange.text(await exchange.first(), MAX_LIST_BYTES);
  return { status: exchange.status, text };
}

/** Context length of one slot of llama-server (`GET /props`). */
function parseSlotContext(text: string): number | null {
  const parsed = parseJson(text);
  const settings = isRecord(parsed) ? parsed['default_generation_settings'] : null;
  return isRecord(settings) ? positiveInteger(settings['n_ctx']) : null;
}

const stringOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null);

const positiveInteger = (value: unknown): number | null =>
  typeof value === 'number' && Number.isInteger(value) && value > 0 ? value : null;

function parseModelInfo(text: string, model: string): UpstreamModelInfo {
  const list = parseModelList(text);
  // A server with one model, such as llama-server, serves it under any name.
  const listed = list.find((entry) => entry['id'] === model) ?? (list.length === 1 ? list[0] : undefined);
  return {
    ...readLimits(listed),
    outputTokens: positiveInteger(listed?.['max_tokens']),
    ownedBy: stringOrNull(listed?.['owned_by']),
    weights: stringOrNull(listed?.['root'] ?? listed?.['id']),
  };
}

function readLimits(listed: Record<string, unknown> | undefined): { contextLength: number | null } {
  return {
    contextLength: positiveInteger(listed?.['max_model_len'] ?? listed?.['n_ctx'] ?? listed?.['max_input_tokens']),
  };
}

function parseModelList(text: string): Record<string, unknown>[] {
  // Some servers respond to this path with a page; they may well generate.
  const parsed = parseJson(text);
  if (!isRecord(parsed)) return [];
  return Array.isArray(parsed['data']) ? parsed['data'].filter(isRecord) : [parsed];
}
