import type { GenerationEvent } from '../engine.ts';
import { isRecord } from './upstream-chunk.ts';
import { WholeCharacters } from './whole-characters.ts';

/** Calls of one answer: more is a server gone wrong, and each costs memory. */
const MAX_CALLS = 1024;

interface Slot {
  upstreamIndex: number | null;
  id: string | null;
  /** Null until it has come: a call is not told before its name is known. */
  name: string | null;
  /** Arguments that came before the name. */
  early: string;
  hasArguments: boolean;
  characters: WholeCharacters;
}

/** Puts the tool calls of one choice together, whatever form their pieces have, and tells them as the port has them. */
export class ToolCalls {
  readonly #choice: number;
  readonly #newId: () => string;
  readonly #most: number;
  readonly #slots: Slot[] = [];

  /** `parallel` false: calls after the first are passed over, also where the upstream did not hold to it. */
  constructor(choice: number, parallel: boolean, newId: () => string) {
    this.#choice = choice;
    this.#newId = newId;
    this.#most = parallel ? MAX_CALLS : 1;
  }

  /** Whether a call has come. */
  get some(): boolean {
    return this.#slots.length > 0;
  }

  /** Adds a delta's `tool_calls` (a list, or the one object that older TGI sends) and appends what they tell to `events`. */
  add(given: unknown, events: GenerationEvent[]): void {
    const calls = Array.isArray(given) ? given : [given];
    for (const call of calls) if (isRecord(call)) this.#addCall(call, events);
  }

  /** The answer ends: a call without arguments gets an empty object, so that they always parse. */
  end(events: GenerationEvent[]): void {
    for (const [index, slot] of this.#slots.entries()) {
      if (slot.name === null) throw new Error('a tool call came without the name of its function');
      if (!slot.hasArguments) this.#tell(index, { arguments: '{}', tokens: 0 }, events);
    }
  }

  #addCall(call: Record<string, unknown>, events: GenerationEvent[]): void {
    const of = isRecord(call['function']) ? call['function'] : call;
    const id = nonEmpty(call['id']);
    const name = nonEmpty(of['name']);
    const upstreamIndex = typeof call['index'] === 'number' ? call['index'] : null;
    const index = this.#slotOf(upstreamIndex, id, name);
    const slot = this.#slots[index];
    if (!slot) return;
    slot.id ??= id;
    const text = slot.characters.add(argumentText(of['arguments']));
    if (slot.name === null) {
      slot.early += text;
      if (name === null) return;
      slot.name = name;
      slot.hasArguments = slot.early !== '';
      this.#tell(index, { id: slot.id ?? this.#newId(), name, arguments: slot.early, tokens: 1 }, events);
    } else if (text !== '') {
      slot.hasArguments = true;
      this.#tell(index, { arguments: text, tokens: 1 }, events);
    }
  }

  /**
   * Which call a piece belongs to. Some servers leave the index out, and some give each call index 0: another id beside
   * a name, or a name where no index is, begins another call.
   */
  #slotOf(upstreamIndex: number | null, id: string | null, name: string | null): number {
    let at = this.#slots.length - 1;
    if (upstreamIndex !== null) at = this.#slots.findLastIndex((slot) => slot.upstreamIndex === upstreamIndex);
    const slot = this.#slots[at];
    const differs = id === null ? upstreamIndex === null : id !== slot?.id;
    const isOther = slot?.name != null && name !== null && differs;
    if (slot && !isOther) return at;
    if (this.#slots.length >= this.#most) return -1;
    this.#slots.push({
      upstreamIndex,
      id,
      name: null,
      early: '',
      hasArguments: false,
      characters: new WholeCharacters(),
    });
    return this.#slots.length - 1;
  }

  #tell(
    index: number,
    delta: { id?: string; name?: string; arguments: string; tokens: number },
    events: GenerationEvent[],
  ): void {
    events.push({ type: 'tool-call-delta', choice: this.#choice, index, ...delta });
  }
}

/** Arguments are JSON text; some servers send null for none, and some the object itself. */
function argumentText(given: unknown): string {
  if (typeof given === 'string') return given;
  return given === null || given === undefined ? '' : JSON.stringify(given);
}

function nonEmpty(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}
