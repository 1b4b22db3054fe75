import type { AnswerEvent, AnswerPart } from '../answers/answer-events.ts';
import { addToParts, type PartEvent } from '../answers/answer-parts.ts';
import { ConnectionLost, openStream } from '../answers/event-stream.ts';
import { readResponseEvents } from '../answers/response-events.ts';
import { ApiFailure } from '../api/client.ts';

/** Pause before a lost connection is opened again. */
const PAUSE_MS = 1_000;

/** What has arrived of an answer. */
export interface LiveState {
  parts: readonly AnswerPart[];
  /** Whether the connection is lost, and opened again. */
  isLost: boolean;
}

/**
 * An answer that is being written, as an external store of React. It changes once per animation frame, however fast
 * tokens arrive.
 */
export class LiveAnswer {
  #state: LiveState = { parts: [], isLost: false };
  readonly #parts: AnswerPart[] = [];
  readonly #listeners = new Set<() => void>();
  #frame = 0;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly getState = (): LiveState => this.#state;

  /**
   * Follows the events of the message at `path` to their end. After a lost connection it continues behind the last
   * event that has arrived. Resolves also when the answer has failed, which its message tells.
   */
  async follow(path: string, signal: AbortSignal, pauseMs = PAUSE_MS): Promise<void> {
    let last = -1;
    while (!signal.aborted) {
      try {
        const from = last === -1 ? '' : `&starting_after=${last}`;
        const stream = await openStream(`${path}?stream=true${from}`, null, signal);
        this.#publish(false);
        for await (const event of readResponseEvents(stream, (sequence) => (last = sequence))) this.#add(event);
        break;
      } catch (error) {
        if (signal.aborted || !isConnectionLost(error)) break;
        this.#publish(true);
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    }
    cancelAnimationFrame(this.#frame);
    if (!signal.aborted) this.#publish(false);
  }

  #add(event: AnswerEvent): void {
    if (!isPartEvent(event)) return;
    addToParts(this.#parts, event);
    if (this.#frame === 0) this.#frame = requestAnimationFrame(() => this.#publish(this.#state.isLost));
  }

  #publish(isLost: boolean): void {
    this.#frame = 0;
    this.#state = { parts: [...this.#parts], isLost };
    for (const listener of this.#listeners) listener();
  }
}

const isPartEvent = (event: AnswerEvent): event is PartEvent =>
  event.type === 'part' || event.type === 'delta' || event.type === 'call' || event.type === 'citations';

const isConnectionLost = (error: unknown): boolean =>
  error instanceof ConnectionLost || (error instanceof ApiFailure && (error.status === 0 || error.status >= 502));
