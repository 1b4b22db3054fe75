import { describeError } from '../../lib/operator-error.ts';
import type { GenerationEngine, GenerationEvent, GenerationRequest } from '../engine.ts';
import { type ListedModel, listServerModels } from './probe.ts';
import { Replicas } from './replicas.ts';
import { DEFAULT_TIMEOUTS } from './timeouts.ts';
import type { UpstreamClientOptions } from './upstream-client.ts';
import { createUpstreamEngine } from './upstream-engine.ts';
import { protocolHeaders } from './upstream-protocol.ts';
import { SCHEMA_PROBE } from './validate-completion.ts';

/** Maximum models of a check: a list that people choose from. */
const MAX_MODELS = 1_000;
/** Maximum time of one generation of a check: the server may have to load the model. */
const CHECK_TIMEOUT_MS = 60_000;

/** A server to check: an upstream without a model. */
export type ServerAccess = Required<
  Pick<UpstreamClientOptions, 'baseUrls' | 'protocol' | 'apiKey' | 'proxy' | 'logger'>
>;

/** How one base URL answered the request for its models. */
export interface ServerCheck {
  url: string;
  latencyMs: number;
  /** A sentence for the operator; null: it answered. */
  error: string | null;
}

/** Result of a feature test. `error` is null if the feature works. */
export interface FeatureCheck {
  name: 'streaming' | 'tools' | 'schema';
  error: string | null;
}

/** Requests the models of each base URL. The models are those of the first one that answers. */
export async function checkServers(
  access: ServerAccess,
  signal: AbortSignal,
): Promise<{ servers: ServerCheck[]; models: ListedModel[] }> {
  const { protocol, apiKey } = access;
  const replicas = new Replicas({ ...access, timeouts: DEFAULT_TIMEOUTS, probe: async () => {} });
  const headers = { 'user-agent': 'quire', ...protocolHeaders(protocol, apiKey) };
  const context = { model: '', protocol, headers, timeouts: DEFAULT_TIMEOUTS };
  try {
    const lists = await Promise.all(
      replicas.all.map(async (replica): Promise<ServerCheck & { models: ListedModel[] | null }> => {
        const startedAt = performance.now();
        const finish = (models: ListedModel[] | null, error: string | null) => ({
          url: replica.endpoints.origin,
          latencyMs: Math.round(performance.now() - startedAt),
          error,
          models,
        });
        return listServerModels(replica, context, MAX_MODELS, signal).then(
          (models) => finish(models, null),
          (error: unknown) => finish(null, describeError(error)),
        );
      }),
    );
    const models = lists.find((list) => list.models !== null)?.models ?? [];
    return { servers: lists.map(({ models: _, ...server }) => server), models };
  } finally {
    await replicas.close(new Error('the check is over'));
  }
}

/** Checks what a model of the server can do. Costs a few tokens at the server. */
export async function checkFeatures(
  access: ServerAccess,
  model: string,
  signal: AbortSignal,
): Promise<{ contextLength: number | null; features: FeatureCheck[] }> {
  const engine = createUpstreamEngine({ ...access, model, contextLength: null });
  try {
    const features = await Promise.all(
      Object.entries(CHECKS).map(async ([name, check]): Promise<FeatureCheck> => {
        const limited = AbortSignal.any([signal, AbortSignal.timeout(CHECK_TIMEOUT_MS)]);
        const error = await check(engine, limited).catch((failure: unknown) => describeFailure(failure));
        return { name: name as FeatureCheck['name'], error };
      }),
    );
    return { contextLength: engine.contextLength(), features };
  } finally {
    await engine.close();
  }
}

/** The sentence for callers, with what the server answered. */
function describeFailure(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? ` ${describeError(error.cause)}` : '';
  return `${describeError(error)}${cause}`;
}

const TEXT_PROBE: GenerationRequest = { ...SCHEMA_PROBE, format: { type: 'text' }, incremental: true };
const TOOL = 'get_time';
const TOOL_PROBE: GenerationRequest = {
  ...TEXT_PROBE,
  prompt: {
    kind: 'chat',
    messages: [{ role: 'user', content: 'What time is it in Oslo? Use the tool.' }],
    tools: [
      {
        type: 'function',
        function: {
          name: TOOL,
          description: 'Returns the time in a city.',
          parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
        },
      },
    ],
    toolChoice: 'required',
    parallelToolCalls: false,
  },
  maxTokens: 256,
};

/** Each resolves with a sentence that says what is missing, or null. */
const CHECKS: Record<FeatureCheck['name'], (engine: GenerationEngine, signal: AbortSignal) => Promise<string | null>> =
  {
    streaming: async (engine, signal) => {
      const isText = ({ type }: GenerationEvent) => type === 'text-delta' || type === 'reasoning-delta';
      const events = await Array.fromAsync(engine.generate(TEXT_PROBE, signal));
      return events.some(isText) ? null : 'The server returned a completion without text.';
    },
    tools: async (engine, signal) => {
      const events = await Array.fromAsync(engine.generate(TOOL_PROBE, signal));
      const isCall = events.some((event) => event.type === 'tool-call-delta' && event.name === TOOL);
      return isCall ? null : 'The model answered without the tool call that the request required.';
    },
    schema: async (engine, signal) =>
      (await engine.enforcesSchemas?.(signal))
        ? null
        : 'The server does not enforce JSON schemas. Quire validates such answers and retries once.',
  };
