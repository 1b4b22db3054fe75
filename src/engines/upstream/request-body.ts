import { hash } from 'node:crypto';
import { invalidValue } from '../../errors.ts';
import type { ChatMessage, ChatPrompt, GenerationRequest, OutputFormat, TextPrompt } from '../engine.ts';
import { splitAtImages } from '../prompt-images.ts';

/** Parts of a body that do not follow from the request. */
export interface BodyFacts {
  /** The upstream's own name of the model. */
  model: string;
  /**
   * The upstream is vLLM: its prefix cache isolates tenants by `cache_salt`, and its first chunk reports cached tokens
   * with `continuous_usage_stats`. Other servers may reject the fields.
   */
  isVllm: boolean;
}

/**
 * Builds the JSON body for `/chat/completions` or `/completions`. Contains only what differs from OpenAI's defaults,
 * because some servers reject unknown fields. Never contains `priority`: vLLM rejects it unless priority scheduling is
 * enabled, which cannot be detected.
 */
export function requestBody(request: GenerationRequest, { model, isVllm }: BodyFacts): string {
  const { prompt, sampling } = request;
  // First, so that they replace no field that this service sets.
  const body: Record<string, unknown> = { ...request.upstreamParameters, model };
  Object.assign(body, prompt.kind === 'chat' ? chatFields(prompt, request) : textFields(prompt, request));
  if (request.maxTokens !== null) body['max_tokens'] = request.maxTokens;
  if (request.choices !== 1) body['n'] = request.choices;
  if (request.stop.length > 0) body['stop'] = request.stop;
  if (sampling.temperature !== null && sampling.temperature !== 1) body['temperature'] = sampling.temperature;
  if (sampling.topP !== 1) body['top_p'] = sampling.topP;
  if (sampling.presencePenalty !== 0) body['presence_penalty'] = sampling.presencePenalty;
  if (sampling.frequencyPenalty !== 0) body['frequency_penalty'] = sampling.frequencyPenalty;
  if (sampling.seed !== null) body['seed'] = sampling.seed;
  if (Object.keys(sampling.logitBias).length > 0) body['logit_bias'] = sampling.logitBias;
  if (request.format.type !== 'text') body['response_format'] = responseFormat(request.format);
  if (isVllm) body['cache_salt'] = hash('sha256', request.cacheScope ?? request.scope, 'hex');
  if (request.incremental) {
    body['stream'] = true;
    body['stream_options'] = { include_usage: true, ...(isVllm && { continuous_usage_stats: true }) };
  }
  return JSON.stringify(body);
}

/** The message in OpenAI's format: with images, its content is a list of parts. */
export function serializeMessage(message: ChatMessage): object {
  const { images, ...fields } = message;
  if (images === undefined) return fields;
  const content = splitAtImages(message).map((part) => {
    if (typeof part === 'string') return { type: 'text', text: part };
    const { at: _, ...image } = part;
    return { type: 'image_url', image_url: image };
  });
  return { ...fields, content };
}

function chatFields(prompt: ChatPrompt, { logprobs }: GenerationRequest): Record<string, unknown> {
  const fields: Record<string, unknown> = { messages: prompt.messages.map(serializeMessage) };
  if (prompt.tools.length > 0) {
    fields['tools'] = prompt.tools;
    if (typeof prompt.toolChoice === 'object') {
      fields['tool_choice'] = { type: 'function', function: { name: prompt.toolChoice.name } };
    } else if (prompt.toolChoice !== 'auto') {
      fields['tool_choice'] = prompt.toolChoice;
    }
    if (!prompt.parallelToolCalls) fields['parallel_tool_calls'] = false;
  }
  if (logprobs !== null) {
    fields['logprobs'] = true;
    if (logprobs > 0) fields['top_logprobs'] = logprobs;
  }
  return fields;
}

function textFields(prompt: TextPrompt, { logprobs }: GenerationRequest): Record<string, unknown> {
  return {
    prompt: prompt.text,
    ...(prompt.suffix !== null && { suffix: prompt.suffix }),
    ...(logprobs !== null && { logprobs }),
  };
}

function responseFormat(format: Exclude<OutputFormat, { type: 'text' }>): object {
  if (format.type === 'json_object') return { type: 'json_object' };
  if (format.type !== 'json_schema') {
    throw invalidValue('response_format', `of type '${format.type}' cannot be enforced by an upstream server`);
  }
  const { name, strict, schema } = format;
  return { type: 'json_schema', json_schema: { name, strict, schema } };
}
