import { newId } from '../../../lib/ids.ts';
import type { ToolCallPart } from './call-parser.ts';

/** A delta of a call, as the engine's events have it. */
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
 * Tells the calls of one answer. A call that a grammar holds is told as it comes; another one when it is complete and
 * turns out to be one. A call that repeats an earlier one is not told: a weak model that must call, or may go on, says
 * the same call again and again.
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
  constructor(names: ReadonlySet<string>, tell: (delta: ToolCallDelta) => void) {
    this.#names = names;
    this.#emit = tell;
  }

  /** Whether any call was completed and told. */
  get any(): boolean {
    return this.#completedCalls.length > 0;
  }

  /** Whether the call that is under way can still turn out to be none. */
  get uncertain(): boolean {
    return !this.#trusted;
  }

  begin(trusted: boolean): void {
    this.#current = { name: '', arguments: '' };
    this.#trusted = trusted;
    this.#open = false;
  }

  /** From here on a grammar holds the call. */
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

  /** The call under way is complete. */
  complete(): 'told' | 'repeated' | 'none' {
    const { name, arguments: given } = this.#current;
    if (this.#completedCalls.some((call) => call.name === name && call.arguments === given)) return 'repeated';
    if (!this.#trusted && !(this.#names.has(name) && isJson(given))) return 'none';
    if (!this.#open) this.#emitText(given);
    this.#completedCalls.push(this.#current);
    return 'told';
  }

  /** Whether what is known of the call could be the beginning of one that was made before. */
  #mayRepeat(): boolean {
    const { name, arguments: given } = this.#current;
    return this.#completedCalls.some((call) => call.name === name && call.arguments.startsWith(given));
  }

  #emitText(piece: string): void {
    const { name, arguments: given } = this.#current;
    const index = this.#emittedCalls;
    if (this.#open) {
      this.#emit({ index: index - 1, arguments: piece });
      return;
    }
    this.#open = true;
    this.#emittedCalls += 1;
    this.#emit({ index, id: newId('toolCall'), name, arguments: '' });
    if (given !== '') this.#emit({ index, arguments: given });
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    // The caller keeps it as text.
    return false;
  }
}
