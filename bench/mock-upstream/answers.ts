import { NumberedBytes, SERIAL_PLACEHOLDER } from '../http/serial-number.ts';

/** Content chunks of a usual streamed answer. */
export const STREAM_CHUNKS = 20;
/** Content chunks of a long answer: many seconds at the interval of the soak. */
export const LONG_STREAM_CHUNKS = 2000;

const MODEL = 'mock';
const ID = 'chatcmpl-mock00000000000000000000000';
const CREATED_SECONDS = 1_700_000_000;
const USAGE = { prompt_tokens: 142, completion_tokens: STREAM_CHUNKS * 6, total_tokens: 142 + STREAM_CHUNKS * 6 };
const PIECE = ' a broken spoke is covered;';

const STREAM_HEAD =
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n';

/** The text of a usual answer; a non-streamed one ends with its serial number. */
export const ANSWER_TEXT = PIECE.repeat(STREAM_CHUNKS);

/** Non-streamed chat completions of about 1 KB, head and body. */
export const chatCompletions = new NumberedBytes(
  jsonAnswer({
    id: ID,
    object: 'chat.completion',
    created: CREATED_SECONDS,
    model: MODEL,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: `${ANSWER_TEXT} ${SERIAL_PLACEHOLDER}`, refusal: null },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage: USAGE,
    system_fingerprint: 'fp_mock',
  }),
);

const MESSAGE = { id: 'msg_mock', type: 'message', role: 'assistant', model: MODEL };
const MESSAGE_USAGE = { input_tokens: USAGE.prompt_tokens, output_tokens: USAGE.completion_tokens };
const MESSAGE_END = { stop_reason: 'end_turn', stop_sequence: null };

/** The same answer as a message of Anthropic's API, head and body. */
export const messageAnswers = new NumberedBytes(
  jsonAnswer({
    ...MESSAGE,
    content: [{ type: 'text', text: `${ANSWER_TEXT} ${SERIAL_PLACEHOLDER}` }],
    ...MESSAGE_END,
    usage: MESSAGE_USAGE,
  }),
);

/** The list of one model, head and body. */
export const modelList = jsonAnswer({
  object: 'list',
  data: [{ id: MODEL, object: 'model', created: CREATED_SECONDS, owned_by: 'mock' }],
});

/** A whole JSON answer with its head. */
export function jsonAnswer(value: unknown, status = '200 OK'): Buffer {
  const body = JSON.stringify(value);
  return Buffer.from(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

/**
 * The writes of a streamed answer: the head with the chunk that names the role, one write per content chunk, the one
 * with the finish reason, the usage chunk, and `[DONE]` with the end of the body.
 */
export function streamWrites(contentChunks: number): Buffer[] {
  const first = event(chunk({ role: 'assistant', content: '' }, null));
  const content = event(chunk({ content: PIECE }, null));
  const last = event(chunk({}, 'stop'));
  const usage = event({ ...chunk({}, null), choices: [], usage: USAGE });
  return [
    Buffer.from(STREAM_HEAD + first),
    ...Array.from({ length: contentChunks }, () => Buffer.from(content)),
    Buffer.from(last),
    Buffer.from(usage),
    Buffer.from(`${httpChunk('data: [DONE]\n\n')}0\r\n\r\n`),
  ];
}

/** The writes of a streamed message, with as many content events. */
export function messageWrites(contentEvents: number): Buffer[] {
  const named = (value: { type: string } & Record<string, unknown>) =>
    httpChunk(`event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`);
  const message = { ...MESSAGE, content: [], stop_reason: null, stop_sequence: null, usage: MESSAGE_USAGE };
  const content = named({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: PIECE } });
  return [
    Buffer.from(STREAM_HEAD + named({ type: 'message_start', message })),
    Buffer.from(named({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } })),
    ...Array.from({ length: contentEvents }, () => Buffer.from(content)),
    Buffer.from(named({ type: 'content_block_stop', index: 0 })),
    Buffer.from(named({ type: 'message_delta', delta: MESSAGE_END, usage: MESSAGE_USAGE })),
    Buffer.from(`${named({ type: 'message_stop' })}0\r\n\r\n`),
  ];
}

function chunk(delta: object, finishReason: string | null): object {
  return {
    id: ID,
    object: 'chat.completion.chunk',
    created: CREATED_SECONDS,
    model: MODEL,
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finishReason }],
  };
}

function event(value: object): string {
  return httpChunk(`data: ${JSON.stringify(value)}\n\n`);
}

function httpChunk(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
}
