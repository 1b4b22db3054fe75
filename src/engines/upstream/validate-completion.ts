import { Worker } from 'node:worker_threads';
import { ApiError } from '../../errors.ts';
import type { GenerationEvent, GenerationRequest } from '../engine.ts';

/** Time to validate the texts of one completion. Only patterns that backtrack take longer; their texts are not validated. */
const VALIDATION_TIMEOUT_MS = 5_000;

interface Pending {
  resolve(violation: string | null): void;
}

let thread: Worker | null = null;
let lastId = 0;
const pending = new Map<number, Pending>();

/** One thread for all engines, started by the first validation. It does not keep the process alive. */
function openThread(): Worker {
  if (thread !== null) return thread;
  const worker = new Worker(new URL('./schema-thread.ts', import.meta.url), { name: 'schema' });
  worker.on('message', ({ id, violation }: { id: number; violation: string | null }) => settle(id, violation));
  worker.on('error', () => abandon(worker));
  // After the listeners: a listener of messages keeps the process alive.
  worker.unref();
  thread = worker;
  return worker;
}

function settle(id: number, violation: string | null): void {
  pending.get(id)?.resolve(violation);
  pending.delete(id);
}

/** Ends a thread that does not answer. The texts that wait for it are not validated. */
function abandon(worker: Worker): void {
  if (thread !== worker) return;
  thread = null;
  void worker.terminate();
  for (const id of [...pending.keys()]) settle(id, null);
}

/** Returns the first violation of a JSON schema; null for valid texts, and for a schema that cannot be compiled or takes too long. */
export async function findSchemaViolation(schema: object, texts: readonly string[]): Promise<string | null> {
  const worker = openThread();
  lastId += 1;
  const id = lastId;
  const { promise, resolve } = Promise.withResolvers<string | null>();
  pending.set(id, { resolve });
  worker.postMessage({ id, schema: JSON.stringify(schema), texts });
  const timer = setTimeout(() => abandon(worker), VALIDATION_TIMEOUT_MS);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
  }
}

/** Texts of the choices that ended by themselves: a choice that was cut off or calls tools need not match the schema. */
export function completeTexts(events: readonly GenerationEvent[]): string[] {
  const texts = new Map<number, string>();
  const stopped = new Set<number>();
  for (const event of events) {
    if (event.type === 'text-delta') texts.set(event.choice, (texts.get(event.choice) ?? '') + event.text);
    if (event.type === 'choice-end' && event.reason === 'stop') stopped.add(event.choice);
  }
  return [...stopped].map((choice) => texts.get(choice) ?? '');
}

/** Error of a server whose completions violate the schema of the request twice. */
export const schemaNotEnforced = (violation: string): ApiError =>
  new ApiError({
    status: 500,
    type: 'server_error',
    code: 'server_error',
    message: "The model's server does not enforce the schema: two completions violate it. Retry, or use another model.",
    cause: new Error(`the completion violates its schema: ${violation}`),
  });

/** No model writes this without being constrained to it. */
const PROBE_SCHEMA = {
  type: 'object',
  properties: { k7: { type: 'string', enum: ['qv-4417'] } },
  required: ['k7'],
  additionalProperties: false,
};

/** A request that only a server that enforces schemas answers with what its schema requires. Costs a few tokens. */
export const SCHEMA_PROBE: GenerationRequest = {
  prompt: {
    kind: 'chat',
    messages: [{ role: 'user', content: 'Say hello.' }],
    tools: [],
    toolChoice: 'none',
    parallelToolCalls: false,
    documents: [],
  },
  choices: 1,
  maxTokens: 64,
  stop: [],
  sampling: { temperature: 0, topP: 1, presencePenalty: 0, frequencyPenalty: 0, seed: null, logitBias: {} },
  format: { type: 'json_schema', name: 'probe', strict: true, schema: PROBE_SCHEMA },
  logprobs: null,
  promptLogprobs: false,
  incremental: false,
  scope: '',
  priority: 'batch',
};

/** Whether the completion of `SCHEMA_PROBE` matches its schema. */
export async function passesSchemaProbe(events: readonly GenerationEvent[]): Promise<boolean> {
  const texts = completeTexts(events);
  return texts.length > 0 && (await findSchemaViolation(PROBE_SCHEMA, texts)) === null;
}
