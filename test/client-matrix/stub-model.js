/**
 * A model server with scripted answers: text, a tool call until a tool result is in the messages, or JSON of a schema.
 */
import { sendEvents, sendJson, startServer } from '../fixtures/upstream-server.ts';

const ARGUMENTS = '{"city":"Oslo","temperature":21}';

/** Starts the server. The caller closes it. */
export function startStubModel() {
  return startServer((request, response) => {
    const { message, reason } = answer(request.body ?? {});
    const usage = { prompt_tokens: 5, completion_tokens: 4, total_tokens: 9 };
    if (!request.body?.stream) {
      return sendJson(response, 200, { choices: [{ index: 0, message, finish_reason: reason }], usage });
    }
    const calls = message.tool_calls?.map((call, index) => ({ index, ...call }));
    const deltas =
      calls === undefined ? message.content.match(/\S+\s*/g).map((content) => ({ content })) : [{ tool_calls: calls }];
    sendEvents(response, [
      ...deltas.map((delta) => ({ choices: [{ index: 0, delta }] })),
      { choices: [{ index: 0, delta: {}, finish_reason: reason }] },
      { choices: [], usage },
      '[DONE]',
    ]);
    response.end();
  });
}

function answer({ messages = [], tools = [], response_format: format }) {
  const result = messages.findLast(({ role }) => role === 'tool');
  if (result !== undefined) return say(`The tool said ${result.content}.`);
  if (tools.length > 0) {
    const call = { id: 'call_1', type: 'function', function: { name: tools[0].function.name, arguments: ARGUMENTS } };
    return { message: { role: 'assistant', content: null, tool_calls: [call] }, reason: 'tool_calls' };
  }
  return say(format === undefined || format.type === 'text' ? 'Hello from the stub.' : ARGUMENTS);
}

const say = (content) => ({ message: { role: 'assistant', content }, reason: 'stop' });
