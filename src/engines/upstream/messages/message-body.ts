import { type ApiError, invalidValue } from '../../../errors.ts';
import type { ChatPrompt, GenerationRequest, OutputFormat } from '../../engine.ts';
import { promptFields } from './message-turns.ts';

/**
 * How a model takes a request to reason: `adaptive` models decide by themselves, older ones get a budget of tokens,
 * and others do not reason.
 */
export type ThinkingForm = 'adaptive' | 'budget' | 'none';

/** Parts of a body that do not follow from the request. */
export interface MessageFacts {
  /** The server's own name of the model. */
  model: string;
  thinking: ThinkingForm;
  /** `max_tokens` of requests that name none: Messages requires the field. */
  defaultMaxTokens: number;
}

/** The tool whose arguments are the answer to a request for JSON. */
export const JSON_TOOL = 'respond_with_json';

/** Tokens of reasoning for each effort, for models with a budget, and the least budget that servers accept. */
const BUDGETS: Readonly<Record<string, number>> = { minimal: 1_024, low: 2_048, medium: 8_192 };
const HIGH_BUDGET = 16_384;
const MIN_BUDGET = 1_024;

/** Parameters of chat completions that Messages has in another form, or not. */
const CHAT_PARAMETERS = new Set(['reasoning_effort', 'verbosity', 'chat_template_kwargs']);

/** Builds the JSON body for `/messages`. Throws 400 `invalid_value` for parameters that Messages does not have. */
export function messageBody(request: GenerationRequest, facts: MessageFacts): string {
  requireSupported(request);
  const supported = request.format.type === 'json_object' ? forceJsonTool(request, { type: 'object' }) : request;
  const { prompt, sampling, stop, upstreamParameters = {} } = supported;
  const own = Object.entries(upstreamParameters).filter(([name]) => !CHAT_PARAMETERS.has(name));
  const maxTokens = request.maxTokens ?? facts.defaultMaxTokens;
  return JSON.stringify({
    // First, so that they replace no field that this service sets.
    ...Object.fromEntries(own),
    model: facts.model,
    max_tokens: maxTokens,
    ...promptFields(prompt as ChatPrompt),
    ...(stop.length > 0 && { stop_sequences: stop }),
    ...(sampling.temperature !== null && sampling.temperature !== 1 && { temperature: sampling.temperature }),
    ...(sampling.topP !== 1 && { top_p: sampling.topP }),
    ...outputFields(supported, facts.thinking, maxTokens),
    ...(request.incremental && { stream: true }),
  });
}

/**
 * Replaces the format of a request by the forced call of a tool with the schema as its parameters. Throws 400 for a
 * request with tools of its own, because one tool can be forced only.
 */
export function forceJsonTool(request: GenerationRequest, parameters: Record<string, unknown>): GenerationRequest {
  const prompt = request.prompt as ChatPrompt;
  if (prompt.tools.length > 0)
    throw unsupported('response_format', `of type '${request.format.type}' with tools is not accepted`);
  const description = 'Returns the answer to the user.';
  const tool = { type: 'function' as const, function: { name: JSON_TOOL, description, parameters } };
  const forced = { tools: [tool], toolChoice: { name: JSON_TOOL }, parallelToolCalls: false };
  return { ...request, prompt: { ...prompt, ...forced }, format: { type: 'text' } };
}

const unsupported = (param: string, predicate: string): ApiError =>
  invalidValue(param, `${predicate} by the server of this model, which speaks Anthropic's Messages`);

function requireSupported({ prompt, choices, logprobs, sampling, format }: GenerationRequest): void {
  if (prompt.kind === 'text') throw unsupported('prompt', 'without a chat is not accepted');
  const { temperature, presencePenalty, frequencyPenalty, seed, logitBias } = sampling;
  if (temperature !== null && temperature > 1) throw unsupported('temperature', 'above 1 is not accepted');
  const fields: [string, boolean][] = [
    ['n', choices > 1],
    ['logprobs', logprobs !== null],
    ['presence_penalty', presencePenalty !== 0],
    ['frequency_penalty', frequencyPenalty !== 0],
    ['seed', seed !== null],
    ['logit_bias', Object.keys(logitBias).length > 0],
    ['response_format', !['text', 'json_object', 'json_schema'].includes(format.type)],
  ];
  for (const [field, isUsed] of fields) if (isUsed) throw unsupported(field, 'is not supported');
}

function outputFields(request: GenerationRequest, form: ThinkingForm, maxTokens: number): Record<string, unknown> {
  const requested = request.upstreamParameters?.['reasoning_effort'];
  const effort = typeof requested === 'string' && requested !== 'none' && form !== 'none' ? requested : null;
  const config = {
    ...(effort !== null && form === 'adaptive' && { effort: effort === 'minimal' ? 'low' : effort }),
    ...formatField(request.format),
  };
  return {
    ...(effort !== null && thinkingField(request, { form, effort, maxTokens })),
    ...(Object.keys(config).length > 0 && { output_config: config }),
  };
}

function formatField(format: OutputFormat): object {
  return format.type === 'json_schema' ? { format: { type: 'json_schema', schema: format.schema } } : {};
}

/** Reasoning only tunes the answer: a parameter or a tool choice that servers reject beside it takes precedence. */
function thinkingField(
  request: GenerationRequest,
  { form, effort, maxTokens }: { form: ThinkingForm; effort: string; maxTokens: number },
): object {
  const { toolChoice, messages } = request.prompt as ChatPrompt;
  const { temperature, topP } = request.sampling;
  const isForced = toolChoice === 'required' || typeof toolChoice === 'object';
  if (isForced || (temperature ?? 1) !== 1 || topP !== 1) return {};
  if (form === 'adaptive') return { thinking: { type: 'adaptive', display: 'summarized' } };
  // With a budget, results of tools must follow the reasoning that called them, which this service does not store.
  const budget = Math.min(BUDGETS[effort] ?? HIGH_BUDGET, Math.floor(maxTokens / 2));
  if (budget < MIN_BUDGET || messages.at(-1)?.role === 'tool') return {};
  return { thinking: { type: 'enabled', budget_tokens: budget } };
}
