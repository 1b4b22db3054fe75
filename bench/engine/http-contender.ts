import { Connection } from '../http/connection.ts';
import type { Arrival, Ask, EngineAnswer } from './contender.ts';

/** A server with `POST /v1/completions`. */
export interface CompletionServer {
  origin: string;
  headers: Record<string, string>;
  model: string;
  /** Further fields of the body. */
  fields: Record<string, unknown>;
}

interface Frame {
  choices?: { text?: string }[];
  usage?: {
    prompt_tokens: number;
    completion_tokens: number;
    prompt_tokens_details?: { cached_tokens?: number };
  } | null;
  error?: unknown;
}

/**
 * Requests a streamed completion at temperature 0 and records the times of its events, one token each. An abort returns
 * the events so far.
 */
export async function askHttp(server: CompletionServer, ask: Ask, signal?: AbortSignal): Promise<EngineAnswer> {
  signal?.throwIfAborted();
  const connection = await Connection.open(server.origin);
  const leave = (): void => connection.destroy();
  signal?.addEventListener('abort', leave, { once: true });
  const frames = new FrameReader();
  const askedMs = performance.now();
  try {
    const { status, complaint } = await connection.exchange(request(server, ask), (piece) => frames.push(piece));
    const endedMs = performance.now();
    if (status !== 200) throw new Error(`status ${status}: ${complaint}`);
    const { usage } = frames;
    if (!usage) throw new Error('an answer without usage');
    return {
      askedMs,
      endedMs,
      arrivals: frames.arrivals,
      text: frames.text,
      promptTokens: usage.prompt_tokens,
      cachedTokens: usage.prompt_tokens_details?.cached_tokens ?? 0,
      completionTokens: usage.completion_tokens,
    };
  } catch (error) {
    if (!signal?.aborted) throw error;
    const { arrivals, text } = frames;
    const none = { promptTokens: 0, cachedTokens: 0, completionTokens: 0 };
    return { askedMs, endedMs: performance.now(), arrivals, text, ...none };
  } finally {
    signal?.removeEventListener('abort', leave);
    connection.destroy();
  }
}

function request(server: CompletionServer, ask: Ask): Buffer {
  const body = JSON.stringify({
    model: server.model,
    prompt: ask.prompt,
    max_tokens: ask.maxTokens,
    temperature: 0,
    stream: true,
    stream_options: { include_usage: true },
    ...server.fields,
  });
  const head = Object.entries({
    host: new URL(server.origin).host,
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    ...server.headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`POST /v1/completions HTTP/1.1\r\n${head.join('')}\r\n${body}`);
}

class FrameReader {
  readonly arrivals: Arrival[] = [];
  text = '';
  usage: Frame['usage'] = null;
  #rest = '';

  push(piece: Buffer): void {
    const atMs = performance.now();
    const lines = (this.#rest + piece.toString('utf8')).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      if (!line.startsWith('data: {')) continue;
      const frame = JSON.parse(line.slice('data: '.length)) as Frame;
      if (frame.error !== undefined) throw new Error(JSON.stringify(frame.error));
      const text = frame.choices?.[0]?.text ?? '';
      if (text !== '') this.arrivals.push({ atMs, tokens: 1 });
      this.text += text;
      this.usage = frame.usage ?? this.usage;
    }
  }
}
