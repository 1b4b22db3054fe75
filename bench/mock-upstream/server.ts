/**
 * A server of OpenAI's chat completions and Anthropic's Messages that answers at once with prepared bytes; a process of
 * its own.
 * `node bench/mock-upstream/server.ts [--event-interval-ms N] [--answer-delay-ms N]`
 *
 * On bare sockets, because it shares the cores with what is measured. Each event of a stream is a write of its own in a
 * turn of its own, as tokens arrive from an engine: a gateway cannot take a whole stream for one piece.
 */
import { createServer, type Socket } from 'node:net';
import { parseArgs } from 'node:util';
import { LONG_COMPLETION_PROMPT } from '../http/chat-request.ts';
import {
  chatCompletions,
  jsonAnswer,
  LONG_STREAM_CHUNKS,
  messageAnswers,
  messageWrites,
  modelList,
  STREAM_CHUNKS,
  streamWrites,
} from './answers.ts';
import type { MockStats } from './stats.ts';

interface OpenAnswer {
  socket: Socket;
  writes: Buffer[];
  next: number;
  long: boolean;
}

const { values: flags } = parseArgs({
  options: {
    'event-interval-ms': { type: 'string', default: '0' },
    'answer-delay-ms': { type: 'string', default: '0' },
  },
});
const eventIntervalMs = Number(flags['event-interval-ms']);
const answerDelayMs = Number(flags['answer-delay-ms']);

const usualWrites = streamWrites(STREAM_CHUNKS);
const usualMessageWrites = messageWrites(STREAM_CHUNKS);
const longWrites = streamWrites(LONG_STREAM_CHUNKS);
const longAnswerDelayMs = eventIntervalMs * LONG_STREAM_CHUNKS;
const notFound = jsonAnswer({ error: { message: 'no such path', type: 'invalid_request_error' } }, '404 Not Found');

const stats: MockStats = { chatRequests: 0, openAnswers: 0, finished: 0, closedEarly: 0, longFinished: 0 };
const streams = new Set<OpenAnswer>();
const openBySocket = new Map<Socket, OpenAnswer>();
let ticking = false;

function tick(): void {
  ticking = false;
  for (const answer of streams) writeNext(answer);
  keepTicking();
}

function keepTicking(): void {
  if (ticking || streams.size === 0) return;
  ticking = true;
  if (eventIntervalMs === 0) setImmediate(tick);
  else setTimeout(tick, eventIntervalMs);
}

function writeNext(answer: OpenAnswer): void {
  const bytes = answer.writes[answer.next++];
  if (bytes) answer.socket.write(bytes);
  if (answer.next >= answer.writes.length) finish(answer);
}

function finish(answer: OpenAnswer): void {
  streams.delete(answer);
  openBySocket.delete(answer.socket);
  stats.openAnswers--;
  stats.finished++;
  if (answer.long) stats.longFinished++;
}

function answerChat(socket: Socket, body: string): void {
  const long = body.includes(LONG_COMPLETION_PROMPT);
  const streamed = isStreamed(body);
  startAnswer(socket, {
    writes: streamed ? (long ? longWrites : usualWrites) : [chatCompletions.next()],
    long,
    streamed,
  });
}

function answerMessages(socket: Socket, body: string): void {
  const streamed = isStreamed(body);
  startAnswer(socket, { writes: streamed ? usualMessageWrites : [messageAnswers.next()], long: false, streamed });
}

const isStreamed = (body: string): boolean => /"stream": ?true/.test(body);

function startAnswer(
  socket: Socket,
  { writes, long, streamed }: Pick<OpenAnswer, 'writes' | 'long'> & { streamed: boolean },
): void {
  const answer: OpenAnswer = { socket, writes, next: 0, long };
  stats.chatRequests++;
  stats.openAnswers++;
  openBySocket.set(socket, answer);
  const delayMs = streamed || !long ? answerDelayMs : longAnswerDelayMs;
  if (delayMs === 0) begin(answer);
  else setTimeout(begin, delayMs, answer);
}

function begin(answer: OpenAnswer): void {
  if (openBySocket.get(answer.socket) !== answer) return;
  writeNext(answer);
  if (openBySocket.get(answer.socket) !== answer) return;
  streams.add(answer);
  keepTicking();
}

function answerRequest(socket: Socket, path: string, body: string): void {
  if (path === '/v1/chat/completions') answerChat(socket, body);
  else if (path === '/v1/messages') answerMessages(socket, body);
  else if (path === '/v1/models') socket.write(modelList);
  else if (path === '/mock/stats') socket.write(jsonAnswer(stats));
  else socket.write(notFound);
}

/** Takes one whole request from the front of `data`; returns its length, or 0 when it is not all there. */
function takeRequest(socket: Socket, data: Buffer): number {
  const headEnd = data.indexOf('\r\n\r\n');
  if (headEnd < 0) return 0;
  const head = data.toString('latin1', 0, headEnd);
  const bodyStart = headEnd + 4;
  let end = bodyStart + Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
  if (/\r\ntransfer-encoding: *chunked/i.test(head)) {
    // Only ever searched for two marks, so the chunk sizes inside do no harm.
    const bodyEnd = data.indexOf('\r\n0\r\n\r\n', bodyStart);
    if (bodyEnd < 0) return 0;
    end = bodyEnd + 7;
  }
  if (data.length < end) return 0;
  answerRequest(socket, head.split(' ', 2)[1] ?? '', data.toString('utf8', bodyStart, end));
  return end;
}

const server = createServer({ noDelay: true }, (socket) => {
  let pending: Buffer | undefined;
  socket.on('data', (piece: Buffer) => {
    let data = pending ? Buffer.concat([pending, piece]) : piece;
    for (let taken = takeRequest(socket, data); taken > 0; taken = takeRequest(socket, data)) {
      data = data.subarray(taken);
      if (data.length === 0) break;
    }
    pending = data.length > 0 ? data : undefined;
  });
  socket.on('error', () => socket.destroy());
  socket.on('close', () => {
    const answer = openBySocket.get(socket);
    if (!answer) return;
    openBySocket.delete(socket);
    streams.delete(answer);
    stats.openAnswers--;
    stats.closedEarly++;
  });
});

server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address && typeof address === 'object') console.log(`mock upstream at http://127.0.0.1:${address.port}`);
});
