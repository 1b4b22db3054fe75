import { ApiError } from '../../errors.ts';
import type { GenerationEvent, GenerationRequest } from '../engine.ts';
import { findSchemaViolation } from './schema-validator.ts';

/** Texts of choices that ended by themselves: truncated choices and tool calls need not match the schema. */
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
  return texts.length > 0 && (await findSchemaViolation('', PROBE_SCHEMA, texts)) === null;
}
