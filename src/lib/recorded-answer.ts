/** Maximum recorded characters of an answer, and of all texts of a prompt. */
export const MAX_RECORDED_CHARACTERS = 65_536;
/**
 * Extra characters that a truncated text keeps until it is redacted. Otherwise detectors would miss sensitive data at
 * the cut.
 */
export const REDACTION_MARGIN = 256;

/** An output item: text, reasoning or a tool call. */
export interface AnswerItem {
  type: 'text' | 'reasoning' | 'tool_call';
  /** Index of the model call within the request, starting at 0. */
  call: number;
  choice: number;
  /** Name of the called tool. */
  name?: string;
  /** Generated text, or the arguments of a tool call as JSON. */
  text: string;
  /** Whether the text is truncated. */
  isTruncated?: true;
}

/** A fragment of an item. Fragments of one `type`, `call`, `choice` and `index` are concatenated. */
export interface AnswerFragment extends Omit<AnswerItem, 'isTruncated'> {
  /** Index of the tool call. */
  index: number;
}

/** Collects an answer, up to `MAX_RECORDED_CHARACTERS`. */
export class RecordedAnswer {
  readonly #items = new Map<string, AnswerItem>();
  #remaining = MAX_RECORDED_CHARACTERS + REDACTION_MARGIN;

  get items(): AnswerItem[] {
    return [...this.#items.values()];
  }

  /** Appends a fragment, up to the limit. */
  add({ index, ...fragment }: AnswerFragment): void {
    const { type, call, choice, text } = fragment;
    const key = `${type} ${call} ${choice} ${index}`;
    let item = this.#items.get(key);
    if (item === undefined) {
      if (this.#remaining === 0) return;
      item = { ...fragment, text: '' };
      this.#items.set(key, item);
    }
    if (text.length > this.#remaining) item.isTruncated = true;
    item.text += text.slice(0, this.#remaining);
    this.#remaining = Math.max(0, this.#remaining - text.length);
  }
}
