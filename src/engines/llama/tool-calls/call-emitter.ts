import { newId } from '../../../lib/ids.ts';
import { parseJson } from '../../../lib/json.ts';
import type { ToolCallPart } from './call-parser.ts';

/** Delta of a tool call, as in the events of the engine. */
export interface ToolCallDelta {
  index: number;
  id?: string;
  name?: string;
  arguments: string;
}

interface CompletedCall {
  name: string;
  arguments: string;
}

/**
 * Emits the tool calls of one completion. A call under a grammar is emitted as it arrives; another one when it is
 * complete and valid. A call that repeats an earlier one is dropped: weak models that must call repeat the same call
 * again and again.
 */
export class ToolCallEmitter {
  readonly #names: ReadonlySet<string>;
  readonly #emit: (delta: ToolCallDelta) => void;
  readonly #completedCalls: CompletedCall[] = [];
  #current: CompletedCall = { name: '', arguments: '' };
  #trusted = false;
  #emittedCalls = 0;
  #open = false;

  /** `names`: the functions that may be called. */
  constructor(names: ReadonlySet<string>, emit: (delta: ToolCallDelta) => void) {
    this.#names = names;
    this.#emit = emit;
  }

  /** Whether a call was completed and emitted. */
  get any(): boolean {
    return this.#completedCalls.length > 0;
  }

  /** Whether the current call may still turn out not to be one. */
  get uncertain(): boolean {
    return !this.#trusted;
  }

  begin(trusted: boolean): void {
    this.#current = { name: '', arguments: '' };
    this.#trusted = trusted;
    this.#open = false;
  }

  /** From here on a grammar constrains the call. */
  trust(): void {
    this.#trusted = true;
  }

  isKnownFunction(name: string): boolean {
    return this.#names.has(name);
  }

  add(part: Extract<ToolCallPart, { kind: 'name' | 'arguments' }>): void {
    if (part.kind === 'name') this.#current.name = part.name;
    else this.#current.arguments += part.text;
    if (!this.#trusted) return;
    if (!this.#open && this.#mayRepeat()) return;
    this.#emitText(part.kind === 'arguments' ? part.text : '');
  }

  /** The current call is complete. */
  complete(): 'emitted' | 'repeated' | 'none' {
    const { name, arguments: json } = this.#current;
    if (this.#completedCalls.some((call) => call.name === name && call.arguments === json)) return 'repeated';
    if (!this.#trusted && !(this.#names.has(name) && parseJson(json) !== undefined)) return 'none';
    if (!this.#open) this.#emitText(json);
    this.#completedCalls.push(this.#current);
    return 'emitted';
  }

  /** Whether the current call may become a repetition of a completed one. */
  #mayRepeat(): boolean {
    const { name, arguments: json } = this.#current;
    return this.#completedCalls.some((call) => call.name === name && call.arguments.startsWith(json));
  }

  #emitText(piece: string): void {
    const { name, arguments: json } = this.#current;
    const index = this.#emittedCalls;
    if (this.#open) {
      this.#emit({ index: index - 1, arguments: piece });
      return;
    }
    this.#open = true;
    this.#emittedCalls += 1;
    this.#emit({ index, id: newId('toolCall'), name, arguments: '' });
    if (json !== '') this.#emit({ index, arguments: json });
  }
}
