import type { REASONING_EFFORTS, RESPONSE_FORMATS, TOOL_CHOICES } from '../api/values.ts';
import { answerText, type PlaygroundRequest, type Turn } from './turns.ts';

/** `chat`: `/v1/chat/completions`; `responses`: `/v1/responses`. */
export type PlaygroundMode = 'chat' | 'responses';

/** Parameters of the playground. Empty: not sent, so that the default of the model applies. */
export interface PlaygroundSettings {
  mode: PlaygroundMode;
  model: string;
  system: string;
  knowledgeBases: readonly string[];
  temperature: number | string;
  topP: number | string;
  maxTokens: number | string;
  seed: number | string;
  stop: string[];
  effort: (typeof REASONING_EFFORTS)[number] | undefined;
  format: (typeof RESPONSE_FORMATS)[number];
  /** JSON texts of the editors; empty: none. */
  schema: string;
  tools: string;
  toolChoice: (typeof TOOL_CHOICES)[number];
  logprobs: boolean;
}

export const DEFAULT_SETTINGS: Omit<PlaygroundSettings, 'model' | 'mode' | 'knowledgeBases'> = {
  system: '',
  temperature: '',
  topP: '',
  maxTokens: '',
  seed: '',
  stop: [],
  effort: undefined,
  format: 'text',
  schema: '',
  tools: '',
  toolChoice: 'auto',
  logprobs: false,
};

/** Alternatives per token of log probabilities. */
const TOP_LOGPROBS = 5;

/** The request for the turns so far. The JSON texts of the settings must be valid: the editors save no others. */
export function buildRequest(settings: PlaygroundSettings, turns: readonly Turn[]): PlaygroundRequest {
  return settings.mode === 'responses'
    ? { path: '/v1/responses', body: responseBody(settings, turns) }
    : { path: '/v1/chat/completions', body: chatBody(settings, turns) };
}

const isNumber = (value: number | string): value is number => typeof value === 'number';
const parseTools = (text: string): Record<string, unknown>[] => (text.trim() === '' ? [] : JSON.parse(text));
const parseSchema = (text: string): Record<string, unknown> => (text.trim() === '' ? {} : JSON.parse(text));

function chatBody(settings: PlaygroundSettings, turns: readonly Turn[]): Record<string, unknown> {
  const { system, temperature, topP, maxTokens, seed, stop, effort, logprobs, knowledgeBases } = settings;
  const tools = parseTools(settings.tools);
  return {
    model: settings.model,
    messages: [
      ...(system.trim() === '' ? [] : [{ role: 'system', content: system }]),
      ...turns.flatMap((turn) => toMessages(turn)),
    ],
    ...(knowledgeBases.length > 0 && { knowledge_bases: knowledgeBases }),
    ...(isNumber(temperature) && { temperature }),
    ...(isNumber(topP) && { top_p: topP }),
    ...(isNumber(maxTokens) && { max_tokens: maxTokens }),
    ...(isNumber(seed) && { seed }),
    ...(stop.length > 0 && { stop }),
    ...(effort !== undefined && { reasoning_effort: effort }),
    ...(tools.length > 0 && { tools, tool_choice: settings.toolChoice }),
    ...chatFormat(settings),
    ...(logprobs && { logprobs: true, top_logprobs: TOP_LOGPROBS }),
    stream: true,
    stream_options: { include_usage: true },
  };
}

function chatFormat({ format, schema }: PlaygroundSettings): object {
  if (format === 'text') return {};
  if (format === 'json_object') return { response_format: { type: 'json_object' } };
  return { response_format: { type: 'json_schema', json_schema: namedSchema(schema) } };
}

const namedSchema = (schema: string) => ({ name: 'answer', schema: parseSchema(schema), strict: true });

function toMessages(turn: Turn): object[] {
  if (turn.role === 'user') return [{ role: 'user', content: turn.text }];
  if (turn.role === 'tool') return [{ role: 'tool', tool_call_id: turn.callId, content: turn.output }];
  // Arguments of an interrupted answer are incomplete JSON.
  const calls = turn.state === 'done' ? turn.parts.filter((part) => part.kind === 'call') : [];
  const text = answerText(turn);
  if (calls.length === 0) return text === '' ? [] : [{ role: 'assistant', content: text }];
  const toolCalls = calls.map(({ callId, name, arguments: text }) => ({
    id: callId,
    type: 'function',
    function: { name, arguments: text },
  }));
  return [{ role: 'assistant', content: text === '' ? null : text, tool_calls: toolCalls }];
}

/** `store: false`: the conversation is in `input`, and nothing stays on the service. */
function responseBody(settings: PlaygroundSettings, turns: readonly Turn[]): Record<string, unknown> {
  const { system, temperature, topP, maxTokens, effort, knowledgeBases } = settings;
  const search = {
    type: 'file_search',
    file_search: { knowledge_base_ids: knowledgeBases },
  };
  const tools = [
    ...(knowledgeBases.length > 0 ? [search, { type: 'query_table' }] : []),
    ...parseTools(settings.tools),
  ];
  return {
    model: settings.model,
    ...(system.trim() !== '' && { instructions: system }),
    input: turns.flatMap((turn) => toItems(turn)),
    ...(tools.length > 0 && { tools, tool_choice: settings.toolChoice }),
    ...(isNumber(temperature) && { temperature }),
    ...(isNumber(topP) && { top_p: topP }),
    ...(isNumber(maxTokens) && { max_output_tokens: maxTokens }),
    ...(effort !== undefined && { reasoning: { effort } }),
    ...responseFormat(settings),
    stream: true,
    store: false,
  };
}

function responseFormat({ format, schema }: PlaygroundSettings): object {
  if (format === 'text') return {};
  const named = format === 'json_schema' ? namedSchema(schema) : {};
  return { text: { format: { type: format, ...named } } };
}

function toItems(turn: Turn): object[] {
  if (turn.role === 'user') return [{ role: 'user', content: turn.text }];
  if (turn.role === 'tool') return [{ type: 'function_call_output', call_id: turn.callId, output: turn.output }];
  return turn.parts.flatMap((part): object[] => {
    switch (part.kind) {
      case 'text':
        return part.text === '' ? [] : [{ role: 'assistant', content: part.text }];
      case 'call':
        if (turn.state !== 'done') return [];
        return [{ type: 'function_call', call_id: part.callId, name: part.name, arguments: part.arguments }];
      case 'search': {
        const results = part.passages.map(({ title, text }) => ({ document_name: title, text }));
        return [{ type: 'file_search_call', id: part.id, queries: part.queries, results }];
      }
      default:
        return [];
    }
  });
}
