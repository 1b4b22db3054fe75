import { isRecord } from '../../lib/json.ts';
import type { GenerationEvent } from '../engine.ts';
import { SurrogateBuffer } from './surrogate-buffer.ts';

/** Maximum calls per completion: more is a faulty server, and each takes memory. */
const MAX_CALLS = 1024;

interface PartialCall {
  upstreamIndex: number | null;
  id: string | null;
  /** Null until it arrives: a call is emitted once its name is known. */
  name: string | null;
  /** Arguments that arrived before the name. */
  argumentsBeforeName: string;
  hasArguments: boolean;
  characters: SurrogateBuffer;
}

/** Assembles the tool calls of one choice from fragments of any format and emits them in the format of the port. */
export class ToolCallAssembler {
  readonly #choice: number;
  readonly #newId: () => string;
  readonly #maxCalls: number;
  readonly #calls: PartialCall[] = [];

  /** `parallel` false: calls after the first are dropped, even if the upstream sends them. */
  constructor(choice: number, parallel: boolean, newId: () => string) {
    this.#choice = choice;
    this.#newId = newId;
    this.#maxCalls = parallel ? MAX_CALLS : 1;
  }

  /** Whether any call has arrived. */
  get hasCalls(): boolean {
    return this.#calls.length > 0;
  }

  /**
   * Adds the `tool_calls` of a delta (a list, or the single object of older TGI) and appends their events to `events`.
   */
  add(received: unknown, events: GenerationEvent[]): void {
    const calls = Array.isArray(received) ? received : [received];
    for (const call of calls) if (isRecord(call)) this.#addCall(call, events);
  }

  /** Ends the completion: a call without arguments gets an empty object, so that arguments always parse. */
  end(events: GenerationEvent[]): void {
    for (const [index, partial] of this.#calls.entries()) {
      if (partial.name === null) throw new Error('a tool call has no function name');
      if (!partial.hasArguments) this.#emit(index, { arguments: '{}', tokens: 0 }, events);
    }
  }

  #addCall(call: Record<string, unknown>, events: GenerationEvent[]): void {
    const of = isRecord(call['function']) ? call['function'] : call;
    const id = nonEmptyString(call['id']);
    const name = nonEmptyString(of['name']);
    const upstreamIndex = typeof call['index'] === 'number' ? call['index'] : null;
    const index = this.#findCall(upstreamIndex, id, name);
    const partial = this.#calls[index];
    if (!partial) return;
    partial.id ??= id;
    const text = partial.characters.add(stringifyArguments(of['arguments']));
    if (partial.name === null) {
      partial.argumentsBeforeName += text;
      if (name === null) return;
      partial.name = name;
      partial.hasArguments = partial.argumentsBeforeName !== '';
      this.#emit(
        index,
        { id: partial.id ?? this.#newId(), name, arguments: partial.argumentsBeforeName, tokens: 1 },
        events,
      );
    } else if (text !== '') {
      partial.hasArguments = true;
      this.#emit(index, { arguments: text, tokens: 1 }, events);
    }
  }

  /**
   * Returns the index of the call that a fragment belongs to. Some servers omit the index, and some send index 0 for
   * each call: a new id beside a name, or a name without an index, starts another call.
   */
  #findCall(upstreamIndex: number | null, id: string | null, name: string | null): number {
    let at = this.#calls.length - 1;
    if (upstreamIndex !== null) at = this.#calls.findLastIndex((partial) => partial.upstreamIndex === upstreamIndex);
    const partial = this.#calls[at];
    const differs = id === null ? upstreamIndex === null : id !== partial?.id;
    const isMismatch = partial?.name != null && name !== null && differs;
    if (partial && !isMismatch) return at;
    if (this.#calls.length >= this.#maxCalls) return -1;
    this.#calls.push({
      upstreamIndex,
      id,
      name: null,
      argumentsBeforeName: '',
      hasArguments: false,
      characters: new SurrogateBuffer(),
    });
    return this.#calls.length - 1;
  }

  #emit(
    index: number,
    delta: { id?: string; name?: string; arguments: string; tokens: number },
    events: GenerationEvent[],
  ): void {
    events.push({ type: 'tool-call-delta', choice: this.#choice, index, ...delta });
  }
}

/** Arguments are JSON text; some servers send null for none, and some the object itself. */
function stringifyArguments(received: unknown): string {
  if (typeof received === 'string') return received;
  return received === null || received === undefined ? '' : JSON.stringify(received);
}

function nonEmptyString(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}
