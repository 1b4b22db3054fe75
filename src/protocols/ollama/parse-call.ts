import { type ChatCall, namedSchema, parseFunctionTools } from '../../chat/parse-call.ts';
import { type CompletionCall, parseCompletionCall } from '../../completions/parse-call.ts';
import type { Deps } from '../../deps.ts';
import type { ChatMessage, FunctionTool, OutputFormat } from '../../engines/engine.ts';
import { invalidValue } from '../../errors.ts';
import { type Admission, admit } from '../../inference/admission.ts';
import { requirePromptFits } from '../../inference/fit-prompt.ts';
import { samplingParameters, stopSequences, upstreamParameters } from '../../inference/parameters.ts';
import type { Call } from '../../lib/caller.ts';
import { resolveModelName } from './models.ts';
import { parseImages, parseOllamaMessages } from './parse-messages.ts';
import type { OllamaCallFields, OllamaChatRequest, OllamaGenerateRequest } from './schema.ts';

/** A request to `chat` or `generate`, parsed and admitted. */
export type OllamaCall = { chat: ChatCall } | { completion: CompletionCall };

type ParseDeps = Pick<Deps, 'config' | 'models'>;

/** Parses and admits `POST /api/chat`. Throws as `admit` does, and 400 with the dotted path. */
export function parseChat(deps: ParseDeps, call: Call, request: OllamaChatRequest): OllamaCall {
  const admission = admit(deps, call, { kind: 'chat', model: resolveModelName(deps, request.model) });
  const messages = parseOllamaMessages(request.messages ?? [], admission.model);
  return toChatCall(deps, request, { admission, messages, tools: parseFunctionTools(request) });
}

/** Fields of `generate` that need a chat template. */
const TEMPLATE_FIELDS = ['system', 'images', 'format'] as const;
const isEmpty = (value: unknown): boolean => value === undefined || (value as { length?: number }).length === 0;

/**
 * Parses and admits `POST /api/generate`: a chat of one message, or with `raw` or `suffix` a completion without a chat
 * template. Throws as `parseChat` does.
 */
export function parseGenerate(deps: ParseDeps, call: Call, request: OllamaGenerateRequest): OllamaCall {
  const { prompt = '', system = '', suffix = '', images = [], raw = false } = request;
  if (request.template) throw invalidValue('template', "is not supported: send the whole prompt with 'raw'");
  if (request.context?.length) throw invalidValue('context', 'is not supported: send the messages to /api/chat');
  if (raw || suffix !== '') return toCompletionCall(deps, call, request);
  const admission = admit(deps, call, { kind: 'chat', model: resolveModelName(deps, request.model) });
  const messages: ChatMessage[] = [
    ...(system === '' ? [] : [{ role: 'system' as const, content: system }]),
    { role: 'user', content: prompt, ...parseImages(images, { role: 'user', path: 'images' }, admission.model) },
  ];
  return toChatCall(deps, request, { admission, messages, tools: [] });
}

function toCompletionCall(deps: ParseDeps, call: Call, request: OllamaGenerateRequest): OllamaCall {
  const { prompt = '', suffix, options = {}, stream = true, raw } = request;
  const field = TEMPLATE_FIELDS.find((name) => !isEmpty(request[name]));
  if (field !== undefined) throw invalidValue(field, `cannot be combined with '${raw ? 'raw' : 'suffix'}'`);
  const model = resolveModelName(deps, request.model);
  const completion = parseCompletionCall(deps, call, {
    ...options,
    ...{ model, prompt, stream },
    ...(suffix && { suffix }),
  });
  const [input] = completion.inputs;
  const logprobs = parseLogprobs(request);
  return { completion: { ...completion, inputs: [{ ...input, maxTokens: parseMaxTokens(request), logprobs }] } };
}

function toChatCall(
  deps: ParseDeps,
  request: OllamaCallFields,
  { admission, messages, tools }: { admission: Admission<'chat'>; messages: ChatMessage[]; tools: FunctionTool[] },
): OllamaCall {
  const { options = {}, stream = true } = request;
  const toolChoice = tools.length > 0 ? ('auto' as const) : ('none' as const);
  const prompt = { kind: 'chat' as const, messages, tools, toolChoice, parallelToolCalls: true };
  requirePromptFits(admission.model, prompt);
  const input = {
    prompt,
    choices: 1,
    maxTokens: parseMaxTokens(request),
    stop: stopSequences(options),
    sampling: samplingParameters(options),
    format: parseFormat(request),
    logprobs: parseLogprobs(request),
    promptLogprobs: false,
    upstreamParameters: upstreamParameters(deps, options, { reasoning_effort: reasoningEffort(request) }),
    incremental: stream,
  };
  return { chat: { admission, input, knowledgeBaseIds: [], includesUsage: true } };
}

function parseMaxTokens({ options: { num_predict: most = 0 } = {} }: OllamaCallFields): number | null {
  return most > 0 ? most : null;
}

function parseFormat({ format = '' }: OllamaCallFields): OutputFormat {
  if (format === '') return { type: 'text' };
  if (format === 'json') return { type: 'json_object' };
  return { ...namedSchema(format as Record<string, unknown>), path: 'format' };
}

const parseLogprobs = ({ logprobs = false, top_logprobs: alternatives = 0 }: OllamaCallFields): number | null =>
  logprobs ? alternatives : null;

/** The effort that upstream servers get; null: the request does not name one. */
function reasoningEffort({ think }: OllamaCallFields): string | null {
  if (typeof think === 'string') return think;
  return think === undefined ? null : think ? 'medium' : 'none';
}
