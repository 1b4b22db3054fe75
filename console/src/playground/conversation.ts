import type { AnswerEvent, AnswerPart } from '../answers/answer-events.ts';
import { addToParts } from '../answers/answer-parts.ts';
import { ConnectionLost } from '../answers/event-stream.ts';
import { buildRequest, type PlaygroundSettings } from './request.ts';
import { streamChat } from './stream-chat.ts';
import { streamResponse } from './stream-response.ts';
import type { AnswerTurn, PlaygroundRequest, ToolTurn, Turn } from './turns.ts';

/** `waiting`: tool calls have no results yet. */
export type ConversationPhase = 'empty' | 'running' | 'waiting' | 'idle';
type Draft = Omit<AnswerTurn, 'parts'> & { parts: AnswerPart[] };

/**
 * The turns of one model, as an external store of React. A streamed answer changes once per animation frame, however
 * fast tokens arrive; the other turns keep their identity, so that only the running answer is rendered again.
 */
export class Conversation {
  #turns: readonly Turn[] = [];
  #abort: AbortController | null = null;
  readonly #listeners = new Set<() => void>();
  #nextId = 1;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly getTurns = (): readonly Turn[] => this.#turns;

  get isRunning(): boolean {
    return this.#abort !== null;
  }

  /** A summary that changes rarely, for components that need not render with every frame. */
  readonly getPhase = (): ConversationPhase => {
    const last = this.#turns.at(-1);
    if (this.isRunning) return 'running';
    if (last === undefined) return 'empty';
    const isWaiting =
      last.role === 'assistant' && last.state === 'done' && last.parts.some(({ kind }) => kind === 'call');
    return isWaiting ? 'waiting' : 'idle';
  };

  /** Starts with the turns of another conversation. */
  startFrom(turns: readonly Turn[]): void {
    this.clear();
    this.#nextId = Math.max(this.#nextId, ...turns.map(({ id }) => id));
    this.#publish(turns.filter((turn) => turn.role !== 'assistant' || turn.state !== 'running'));
  }

  /** Sends a message of the user. */
  send(text: string, settings: PlaygroundSettings): Promise<void> {
    return this.#answer([...this.#turns, { role: 'user', id: this.#newId(), text }], settings);
  }

  /** Replaces a user message, drops what follows, and sends it. `index` counts the user messages from 0. */
  resend(index: number, text: string, settings: PlaygroundSettings): Promise<void> {
    const question = this.#turns.filter(({ role }) => role === 'user')[index];
    if (question === undefined) return Promise.resolve();
    const before = this.#turns.slice(0, this.#turns.indexOf(question));
    return this.#answer([...before, { role: 'user', id: this.#newId(), text }], settings);
  }

  /** Drops the last answer and requests it again. */
  retry(settings: PlaygroundSettings): Promise<void> {
    const end = this.#turns.at(-1)?.role === 'assistant' ? -1 : undefined;
    return this.#answer(this.#turns.slice(0, end), settings);
  }

  /** Continues after tool calls with their results. */
  continueWith(results: readonly Omit<ToolTurn, 'role' | 'id'>[], settings: PlaygroundSettings): Promise<void> {
    const tools = results.map((result): ToolTurn => ({ role: 'tool', id: this.#newId(), ...result }));
    return this.#answer([...this.#turns, ...tools], settings);
  }

  /** Ends the running answer; what has arrived of it stays. */
  stop(): void {
    this.#abort?.abort();
  }

  clear(): void {
    this.stop();
    this.#abort = null;
    this.#publish([]);
  }

  async #answer(history: readonly Turn[], settings: PlaygroundSettings): Promise<void> {
    this.stop();
    const abort = new AbortController();
    this.#abort = abort;
    const request = buildRequest(settings, history);
    const draft = newAnswer(this.#newId(), settings.model, request);
    let frame = 0;
    const show = () => {
      frame = 0;
      // A later answer, or a cleared conversation, owns the turns.
      if (this.#abort === abort) this.#publish([...history, { ...draft, parts: [...draft.parts] }]);
    };
    show();
    const startedAt = performance.now();
    const stream = request.path === '/v1/responses' ? streamResponse : streamChat;
    try {
      for await (const event of stream(request.body, abort.signal)) {
        if (event.type !== 'head') draft.firstTokenMs ??= performance.now() - startedAt;
        apply(draft, event);
        if (frame === 0) frame = requestAnimationFrame(show);
      }
      draft.state = 'done';
    } catch (error) {
      draft.state = abort.signal.aborted ? 'stopped' : error instanceof ConnectionLost ? 'lost' : 'failed';
      if (draft.state === 'failed') draft.error = error instanceof Error ? error : new Error(String(error));
    }
    draft.totalMs = performance.now() - startedAt;
    cancelAnimationFrame(frame);
    show();
    if (this.#abort !== abort) return;
    this.#abort = null;
    this.#publish(this.#turns);
  }

  #newId(): number {
    this.#nextId += 1;
    return this.#nextId;
  }

  #publish(turns: readonly Turn[]): void {
    this.#turns = turns === this.#turns ? [...turns] : turns;
    for (const listener of this.#listeners) listener();
  }
}

const newAnswer = (id: number, model: string, request: PlaygroundRequest): Draft => ({
  role: 'assistant',
  id,
  model,
  state: 'running',
  parts: [],
  context: [],
  usage: null,
  firstTokenMs: null,
  totalMs: null,
  finishReason: null,
  requestId: null,
  cacheStatus: null,
  error: null,
  request,
});

/** Adds an event to an answer. */
function apply(draft: Draft, event: AnswerEvent): void {
  switch (event.type) {
    case 'head':
      draft.requestId = event.requestId;
      draft.cacheStatus = event.cacheStatus;
      return;
    case 'finish':
      draft.finishReason = event.reason;
      return;
    case 'usage':
      draft.usage = event.usage;
      return;
    case 'context':
      draft.context = event.passages;
      return;
    default:
      addToParts(draft.parts, event);
  }
}
