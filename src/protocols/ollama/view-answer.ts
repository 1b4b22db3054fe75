import type { ChatRun } from '../../chat/start-chat.ts';
import type { CompletionRun } from '../../completions/start-completion.ts';
import type { FinishReason, GenerationEvent, GenerationUsage, TokenLogprob, ToolCall } from '../../engines/engine.ts';
import { collect } from '../../inference/collect.ts';
import type { Generation } from '../../inference/generate.ts';
import { viewNotices } from '../../inference/moderation-notice.ts';
import { parseToolArguments } from '../../inference/tool-arguments.ts';

/** A started call, and how its answer is shown. */
export interface OllamaAnswer {
  run: ChatRun | CompletionRun;
  /** Resolves after prompt processing. */
  started: Promise<Generation>;
  form: 'chat' | 'generate';
  /** The name of the model as the client sent it. */
  model: string;
  showsThinking: boolean;
  /** When the request arrived, on the clock of `performance.now`. */
  startedAt: number;
}

/** A part of an answer. */
interface AnswerPart {
  text?: string;
  thinking?: string;
  toolCalls?: readonly ToolCall[];
  logprobs?: readonly TokenLogprob[] | null;
}

/** The generation of a run. Its rejection must be handled. */
export async function startedGeneration({ started }: OllamaAnswer['run']): Promise<Generation> {
  const value = await started;
  return 'generation' in value ? value.generation : value;
}

/** Converts the events of a generation to the objects of a stream. All tool calls are in one object, near the end. */
export async function* toAnswerStream(answer: OllamaAnswer): AsyncGenerator<object, void, undefined> {
  const { events, usage } = await answer.started;
  const processedAt = performance.now();
  // In the first object only.
  let moderation = viewNotices(answer.run.notices());
  let reason: FinishReason = 'stop';
  const callEvents: GenerationEvent[] = [];
  const next = (part: AnswerPart, end: object = { done: false }) => {
    const object = { ...viewPart(answer, part), ...end, ...moderation };
    moderation = {};
    return object;
  };
  for await (const event of events) {
    if (event.type === 'choice-end') reason = event.reason;
    if (event.type === 'tool-call-delta') callEvents.push(event);
    if (event.type === 'reasoning-delta' && answer.showsThinking) yield next({ thinking: event.text });
    if (event.type === 'text-delta') yield next({ text: event.text, logprobs: event.logprobs ?? null });
  }
  const toolCalls = (await collect(callEvents, 1)).choices[0]?.toolCalls ?? [];
  if (toolCalls.length > 0) yield next({ toolCalls });
  yield next({}, viewEnd(answer, processedAt, { reason, usage: usage() }));
}

/** Collects a started call into the answer that is not streamed. Equals the concatenation of its stream. */
export async function collectAnswer(answer: OllamaAnswer): Promise<object> {
  const generation = await answer.started;
  const processedAt = performance.now();
  const { choices, usage } = await collect(generation.events, 1);
  const [choice] = choices;
  if (choice === undefined) throw new Error('the generation has no choice');
  const { text, reasoning, toolCalls, logprobs, reason } = choice;
  const thinking = answer.showsThinking ? reasoning : '';
  return {
    ...viewPart(answer, { text, thinking, toolCalls, logprobs }),
    ...viewEnd(answer, processedAt, { reason, usage }),
    ...viewNotices(answer.run.notices()),
  };
}

/** The answer to a request without a prompt. */
export const viewLoad = (answer: Pick<OllamaAnswer, 'form' | 'model'>, doneReason: 'load' | 'unload'): object => ({
  ...viewPart(answer, {}),
  done: true,
  done_reason: doneReason,
});

function viewPart(
  { form, model }: Pick<OllamaAnswer, 'form' | 'model'>,
  { text = '', thinking = '', toolCalls = [], logprobs = null }: AnswerPart,
): object {
  const thought = thinking !== '' && { thinking };
  const calls = toolCalls.map(({ id, function: { name, arguments: args } }, index) => ({
    id,
    function: { index, name, arguments: parseToolArguments(args) },
  }));
  const message = { role: 'assistant', content: text, ...thought, ...(calls.length > 0 && { tool_calls: calls }) };
  return {
    model,
    created_at: new Date().toISOString(),
    ...(form === 'chat' ? { message } : { response: text, ...thought }),
    ...(logprobs !== null && { logprobs: logprobs.map(({ top, ...token }) => ({ ...token, top_logprobs: top })) }),
  };
}

function viewEnd(
  { startedAt }: OllamaAnswer,
  processedAt: number,
  { reason, usage }: { reason: FinishReason; usage: GenerationUsage },
): object {
  const endedAt = performance.now();
  return {
    done: true,
    done_reason: reason === 'tool_calls' ? 'stop' : reason,
    total_duration: nanoseconds(endedAt - startedAt),
    load_duration: 0,
    prompt_eval_count: usage.promptTokens,
    prompt_eval_duration: nanoseconds(processedAt - startedAt),
    eval_count: usage.completionTokens,
    eval_duration: nanoseconds(endedAt - processedAt),
  };
}

/** At least 1: clients divide by durations. */
export const nanoseconds = (milliseconds: number): number => Math.max(1, Math.round(milliseconds * 1e6));
