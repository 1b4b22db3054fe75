import { invalidValue, missingField } from '../errors.ts';
import type { ChatRequest } from './schema.ts';

type Message = ChatRequest['messages'][number];

/**
 * Converts the fields that OpenAI had before tools (`functions`, `function_call`, messages of functions) to tools. One
 * function is called at a time. Throws 400 for a field beside its successor.
 */
export function replaceFunctions(request: ChatRequest): ChatRequest {
  const { functions, function_call: choice, messages, ...others } = request;
  if (functions !== undefined && request.tools !== undefined)
    throw invalidValue('functions', "must not be given beside 'tools'");
  if (choice !== undefined && request.tool_choice !== undefined)
    throw invalidValue('function_call', "must not be given beside 'tool_choice'");
  return {
    ...others,
    messages: replaceMessages(messages),
    ...(functions !== undefined && {
      tools: functions.map((fn) => ({ type: 'function' as const, function: fn })),
      parallel_tool_calls: false,
    }),
    ...(choice !== undefined && {
      tool_choice: typeof choice === 'string' ? choice : { type: 'function' as const, function: { name: choice.name } },
    }),
  };
}

/** A result belongs to the last call of its function. */
function replaceMessages(messages: readonly Message[]): Message[] {
  const callIds = new Map<string, string>();
  return messages.map(({ function_call: call, ...message }, index) => {
    const id = `call_${index}`;
    if (call !== undefined) {
      if (message.tool_calls !== undefined)
        throw invalidValue(`messages.${index}.function_call`, "must not be given beside 'tool_calls'");
      callIds.set(call.name, id);
      return { content: null, ...message, tool_calls: [{ id, type: 'function' as const, function: call }] };
    }
    if (message.role !== 'function') return message;
    if (message.name === undefined) throw missingField(`messages.${index}.name`);
    return { ...message, role: 'tool' as const, tool_call_id: callIds.get(message.name) ?? id };
  });
}
