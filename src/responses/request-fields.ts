import { ApiError, invalidValue } from '../errors.ts';
import { rejectFields } from '../inference/parameters.ts';
import type { CreateResponse } from './schema.ts';

/** OpenAI's fields that change a response: rejected, not ignored. Value: the field to use instead. */
const UNSUPPORTED = {
  messages: 'input',
  functions: 'tools',
  function_call: 'tool_choice',
  response_format: 'text.format',
  max_tokens: 'max_output_tokens',
  max_completion_tokens: 'max_output_tokens',
  n: null,
  seed: null,
  stop: null,
  logprobs: null,
  logit_bias: null,
  reasoning_effort: 'reasoning.effort',
  knowledge_bases: 'tools',
} as const;

/** Value of `include` for the log probabilities of the answer. */
export const LOGPROBS = 'message.output_text.logprobs';

/**
 * Values of `include`. The others change nothing: results of searches and reasoning are always included, and there are
 * no items of other kinds.
 */
const INCLUDED: ReadonlySet<string> = new Set([
  LOGPROBS,
  'file_search_call.results',
  'reasoning.encrypted_content',
  'web_search_call.results',
  'web_search_call.action.sources',
  'message.input_image.image_url',
  'computer_call_output.output.image_url',
  'code_interpreter_call.outputs',
]);

/** Throws 400 naming the first field that this service cannot honour. */
export function rejectUnsupported(request: CreateResponse): void {
  rejectFields(request, UNSUPPORTED);
  (request.include ?? []).forEach((value, index) => {
    if (!INCLUDED.has(value)) throw invalidValue(`include.${index}`, `must be one of ${[...INCLUDED].join(', ')}`);
  });
}

/** Names of fields where engines and chat completions differ from responses. */
const RENAMED: readonly (readonly [string, string])[] = [
  ['messages', 'input'],
  ['response_format.json_schema.schema', 'text.format.schema'],
  ['response_format', 'text.format'],
  ['max_tokens', 'max_output_tokens'],
];

/**
 * Converts an error of an engine, which names fields of a chat completion, to one that names fields of the request.
 * `functionPaths`: the path of each function among the tools, such as `tools.1.function`.
 */
export function toRequestError(error: ApiError, functionPaths: readonly string[]): ApiError {
  const { param } = error;
  if (param === null || error.status !== 400 || error.type !== 'invalid_request_error') return error;
  const renamed = renameField(param, functionPaths);
  if (renamed === param) return error;
  const message = error.message.replace(`'${param}'`, `'${renamed}'`);
  return new ApiError({ status: 400, type: error.type, code: error.code, message, param: renamed, cause: error });
}

function renameField(param: string, functionPaths: readonly string[]): string {
  const tool = /^tools\.(\d+)\.function(?=\.|$)/.exec(param);
  if (tool !== null) return (functionPaths[Number(tool[1])] ?? tool[0]) + param.slice(tool[0].length);
  for (const [engineField, field] of RENAMED) {
    if (param === engineField) return field;
    if (param.startsWith(`${engineField}.`)) return field + param.slice(engineField.length);
  }
  return param;
}
