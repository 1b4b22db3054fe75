import type { ChatPrompt, FunctionTool, GenerationRequest, OutputFormat } from '../../engine.ts';

/** A constraint on the tool calls of one request, beyond the tools themselves. Only with a chat prompt. */
export interface ToolConstraint {
  /** Indices of the tools that the model sees and may call. Error paths count in the whole list. */
  tools: readonly number[];
  /**
   * By index of a tool: a narrower schema for its arguments. The model sees the tool's own, which applies where the
   * narrower one accepts nothing.
   */
  parameters?: Readonly<Record<number, Record<string, unknown>>>;
  /** Added to the logit of the token that starts a call, where the model chooses between a call and text. Default 0. */
  callBias?: number;
  /**
   * Argument schemas of several calls of the first of `tools`: these calls in order, or none. Only with `parameters`.
   */
  sequence?: readonly Record<string, unknown>[];
}

/** A request with fields that the port does not have. */
export interface ConstrainedRequest extends GenerationRequest {
  toolConstraint?: ToolConstraint | undefined;
  /** A narrower format than `format` for a weak model. No effect where it accepts nothing. Only with a chat prompt. */
  narrowedFormat?: OutputFormat | undefined;
  /** The caller's prompt if `prompt` is an excerpt: it must fit into the context, and its tokens are reported. */
  sentPrompt?: ChatPrompt | undefined;
  /** The prompt is tokenized and not computed: `prompt-end` and `usage` are the only events. */
  isCount?: true;
  /** Cuts an unconstrained completion that repeats a few tokens without end; its finish reason is `length`. */
  cutsRepetition?: boolean | undefined;
}

/** The tools of a request under its constraint. */
export interface ConstrainedTools {
  /** Tools that the model sees, as the caller sent them. */
  shown: readonly FunctionTool[];
  /** The same tools with the schemas that constrain their arguments. */
  callable: readonly FunctionTool[];
  /** All tools with these schemas, in the order of the request. */
  offered: readonly FunctionTool[];
  /** The calls to make, as tools with the schemas of their arguments; undefined: the model decides. */
  sequence?: readonly FunctionTool[] | undefined;
}

/** Applies a constraint to the tools of a request. */
export function constrainTools(
  tools: readonly FunctionTool[],
  constraint: ToolConstraint | undefined,
): ConstrainedTools {
  if (constraint === undefined) return { shown: tools, callable: tools, offered: tools };
  const offered = tools.map((tool, index) => {
    const parameters = constraint.parameters?.[index];
    return parameters === undefined ? tool : { ...tool, function: { ...tool.function, parameters } };
  });
  const select = (list: readonly FunctionTool[]) => constraint.tools.flatMap((index) => list[index] ?? []);
  const [repeated] = select(tools);
  const sequence = constraint.sequence?.flatMap((parameters) =>
    repeated === undefined ? [] : { ...repeated, function: { ...repeated.function, parameters } },
  );
  return { shown: select(tools), callable: select(offered), offered, sequence };
}
