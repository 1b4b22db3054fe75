import { newId } from '../../../lib/ids.ts';
import type { CallPart } from './call-parser.ts';

/** A delta of a call, as the engine's events have it. */
export interface CallDelta {
  index: number;
  id?: string;
  name?: string;
  arguments: string;
}

interface MadeCall {
  name: string;
  arguments: string;
}

/**
 * Tells the calls of one answer. A call that a grammar holds is told as it comes; another one when it is complete and
 * turns out to be one. A call that repeats an earlier one is not told: a weak model that must call, or may go on, says
 * the same call again and again.
 */
export class CallTeller {
  readonly #names: ReadonlySet<string>;
  readonly #tell: (delta: CallDelta) => void;
  readonly #made: MadeCall[] = [];
  #current: MadeCall = { name: '', arguments: '' };
  #trusted = false;
  #told = 0;
  #open = false;

  /** `names`: the functions that may be called. */
  constructor(names: ReadonlySet<string>, tell: (delta: CallDelta) => void) {
    this.#names = names;
    this.#tell = tell;
  }

  /** Whether any call was completed and told. */
  get any(): boolean {
    return this.#made.length > 0;
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

  knows(name: string): boolean {
    return this.#names.has(name);
  }

  add(part: Extract<CallPart, { kind: 'name' | 'arguments' }>): void {
    if (part.kind === 'name') this.#current.name = part.name;
    else this.#current.arguments += part.text;
    if (!this.#trusted) return;
    if (!this.#open && this.#mayRepeat()) return;
    this.#say(part.kind === 'arguments' ? part.text : '');
  }

  /** The call under way is complete. */
  complete(): 'told' | 'repeated' | 'none' {
    const { name, arguments: given } = this.#current;
    if (this.#made.some((call) => call.name === name && call.arguments === given)) return 'repeated';
    if (!this.#trusted && !(this.#names.has(name) && isJson(given))) return 'none';
    if (!this.#open) this.#say(given);
    this.#made.push(this.#current);
    return 'told';
  }

  /** Whether what is known of the call could be the beginning of one that was made before. */
  #mayRepeat(): boolean {
    const { name, arguments: given } = this.#current;
    return this.#made.some((call) => call.name === name && call.arguments.startsWith(given));
  }

  #say(piece: string): void {
    const { name, arguments: given } = this.#current;
    const index = this.#told;
    if (this.#open) {
      this.#tell({ index: index - 1, arguments: piece });
      return;
    }
    this.#open = true;
    this.#told += 1;
    this.#tell({ index, id: newId('toolCall'), name, arguments: '' });
    if (given !== '') this.#tell({ index, arguments: given });
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
