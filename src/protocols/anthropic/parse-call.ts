import type { ChatCall } from '../../chat/parse-call.ts';
import { namedSchema } from '../../chat/parse-call.ts';
import type { Deps } from '../../deps.ts';
import type { ChatPrompt, FunctionTool, OutputFormat, ToolChoice } from '../../engines/engine.ts';
import { invalidValue, missingField } from '../../errors.ts';
import { admit } from '../../inference/admission.ts';
import { requirePromptFits } from '../../inference/fit-prompt.ts';
import type { ImageRules } from '../../inference/image-parts.ts';
import { samplingParameters, upstreamParameters } from '../../inference/parameters.ts';
import type { Call } from '../../lib/caller.ts';
import { parseMessages } from './parse-messages.ts';
import type { CountTokensRequest, MessagesRequest } from './schema.ts';

/** A request to `/v1/messages`, parsed and admitted. */
export interface MessagesCall {
  readonly chat: ChatCall;
  /** Whether the answer shows the reasoning of the model. */
  readonly showsThinking: boolean;
}

/** Thinking budgets in tokens, up to which each effort is requested; above: `high`. */
const EFFORT_BUDGETS = [
  [2_048, 'low'],
  [8_192, 'medium'],
] as const;

/** Parses and admits a request. Throws as `admit` does, and 400 with the dotted path. */
export function parseMessagesCall(
  deps: Pick<Deps, 'config' | 'models'>,
  call: Call,
  request: MessagesRequest,
): MessagesCall {
  const admission = admit(deps, call, { kind: 'chat', model: request.model });
  const prompt = parsePrompt(request, { model: admission.model, allowPrivateHosts: deps.config.allowPrivateHosts });
  requirePromptFits(admission.model, prompt);
  const effort = reasoningEffort(request);
  const input = {
    prompt,
    choices: 1,
    maxTokens: request.max_tokens,
    stop: [...new Set(request.stop_sequences)],
    sampling: samplingParameters(request),
    format: outputFormat(request),
    logprobs: null,
    promptLogprobs: false,
    upstreamParameters: upstreamParameters(deps, request, effort === null ? {} : { reasoning_effort: effort }),
    incremental: request.stream ?? false,
  };
  return {
    chat: { admission, input, knowledgeBaseIds: [], includesUsage: true },
    showsThinking: isThinking(request),
  };
}

/** Parses the fields that make up a prompt. Throws 400 with the dotted path. */
export function parsePrompt(request: CountTokensRequest, images: ImageRules): ChatPrompt {
  const tools = (request.tools ?? []).map(parseTool);
  for (const [index, { function: tool }] of tools.entries()) {
    const first = tools.findIndex(({ function: other }) => other.name === tool.name);
    if (first !== index) throw invalidValue(`tools.${index}.name`, `is already the name of tools.${first}`);
  }
  return {
    kind: 'chat',
    messages: parseMessages(request, images),
    tools,
    toolChoice: parseToolChoice(request, tools),
    parallelToolCalls: request.tool_choice?.disable_parallel_tool_use !== true,
  };
}

type WireTool = NonNullable<CountTokensRequest['tools']>[number];

function parseTool({ type, name, description, input_schema: parameters, strict }: WireTool, index: number) {
  if (type !== undefined && type !== 'custom')
    throw invalidValue(`tools.${index}.type`, `must be 'custom': '${type.slice(0, 40)}' is not supported`);
  if (parameters === undefined) throw missingField(`tools.${index}.input_schema`);
  const rest = { ...(description !== undefined && { description }), ...(strict !== undefined && { strict }) };
  return { type: 'function', function: { name, parameters, ...rest } } satisfies FunctionTool;
}

function parseToolChoice({ tool_choice: choice }: CountTokensRequest, tools: readonly FunctionTool[]): ToolChoice {
  if (choice === undefined || choice.type === 'auto' || choice.type === 'none')
    return tools.length > 0 && choice?.type !== 'none' ? 'auto' : 'none';
  if (tools.length === 0) throw invalidValue('tool_choice', "needs 'tools' to choose from");
  if (choice.type === 'any') return 'required';
  const { name } = choice;
  if (name === undefined) throw missingField('tool_choice.name');
  if (!tools.some((tool) => tool.function.name === name))
    throw invalidValue('tool_choice.name', "must be the name of one of 'tools'");
  return { name };
}

function outputFormat({ output_config: config }: MessagesRequest): OutputFormat {
  if (config?.format === undefined) return { type: 'text' };
  return { ...namedSchema(config.format.schema), path: 'output_config.format.schema' };
}

const isThinking = ({ thinking }: MessagesRequest): boolean => thinking !== undefined && thinking.type !== 'disabled';

/** The effort that upstream servers get; null: the request does not name one. */
function reasoningEffort(request: MessagesRequest): string | null {
  const { thinking, output_config: config } = request;
  if (thinking?.type === 'disabled') return 'none';
  if (config?.effort !== undefined) return config.effort;
  const { budget_tokens: budget } = thinking ?? {};
  if (budget === undefined) return null;
  return EFFORT_BUDGETS.find(([most]) => budget <= most)?.[1] ?? 'high';
}
