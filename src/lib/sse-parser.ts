import { createParser, type EventSourceParser, type ParseError } from 'eventsource-parser';

/**
 * Maximum characters of one event. A completion of a million tokens sent as one event has about 6 million. Bounds the
 * memory for servers that never end a line.
 */
export const MAX_EVENT_CHARACTERS = 16 * 1024 * 1024;

/**
 * Incremental parser of server-sent events. Returns the `data` of each event; ignores comments, `event`, `id` and
 * `retry`. Chunks may end anywhere, even within a character or between CR and LF. `push` throws when an incomplete
 * event exceeds `maxEventCharacters`.
 */
export class SseParser {
  readonly #decoder = new TextDecoder();
  readonly #parser: EventSourceParser;
  #events: string[] = [];

  constructor(maxEventCharacters: number = MAX_EVENT_CHARACTERS) {
    this.#parser = createParser({
      onEvent: ({ data }) => void this.#events.push(data),
      onError: requireBounded,
      maxBufferSize: maxEventCharacters,
    });
  }

  /** Returns the data of the events that end within `chunk`, in order. */
  push(chunk: Uint8Array): string[] {
    return this.#feed(this.#decoder.decode(chunk, { stream: true }));
  }

  /** Ends the stream. Returns the data of a last event without a trailing blank line, as some servers send `[DONE]`. */
  end(): string[] {
    return this.#feed(`${this.#decoder.decode()}\n\n`);
  }

  #feed(text: string): string[] {
    this.#events = [];
    this.#parser.feed(text);
    return this.#events;
  }
}

/** Unknown fields are no error. */
function requireBounded(error: ParseError): void {
  if (error.type === 'max-buffer-size-exceeded') throw error;
}
