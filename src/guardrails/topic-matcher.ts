import { normalizeText } from './normalize-text.ts';

/** What happens to a text with a topic of the deny list. */
export type TopicAction = 'block' | 'warn';

/** An entry of a deny list. */
export interface TopicRule {
  topic: string;
  action: TopicAction;
}

/** A topic found in a text. */
export interface TopicMatch {
  /** Position in the deny list. */
  index: number;
  /** Offsets into the normalized text. */
  start: number;
  end: number;
}

/** A character of a word: letters, marks, digits and connectors such as `_` of any script. */
const WORD_CHARACTER = /[\p{L}\p{M}\p{N}\p{Pc}]/u;
/** Scripts without spaces between words: their words match anywhere, as they have no boundaries. */
const UNSPACED_SCRIPT = /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmr}\p{sc=Mymr}]/u;

interface State {
  next: Map<number, number>;
  /** State of the longest proper suffix of this one that begins a topic. */
  fallback: number;
  /** Topics that end in this state. */
  topics: CompiledTopic[];
  /** Nearest state on the chain of fallbacks where a topic ends; 0 when there is none. */
  ending: number;
}

interface CompiledTopic {
  index: number;
  length: number;
  /** Whether the character before, and after, a match must not belong to a word. */
  needsStart: boolean;
  needsEnd: boolean;
}

/**
 * Finds all topics of a deny list in one pass over a text, whatever their number (Aho-Corasick). A topic without spaces
 * is matched as a whole word, a topic with spaces as a substring; case is ignored.
 */
export class TopicMatcher {
  /** Characters of the longest normalized topic. */
  longest = 0;
  /** Normalizes a text as the topics are. */
  readonly normalize: (text: string) => string;
  readonly #states: State[] = [newState()];

  /** Topics that are empty after normalization match nothing. */
  constructor(rules: readonly TopicRule[], normalize = normalizeText) {
    this.normalize = normalize;
    for (const [index, { topic }] of rules.entries()) this.#add(normalize(topic).trim(), index);
    this.#linkFallbacks();
  }

  /** Yields every match, in the order of their ends. `text` is normalized. */
  *match(text: string): Generator<TopicMatch> {
    let state = 0;
    for (let i = 0; i < text.length; i += 1) {
      state = this.#step(state, text.charCodeAt(i));
      for (let ending = this.#endingAt(state); ending !== 0; ending = this.#states[ending]?.ending ?? 0) {
        for (const topic of this.#states[ending]?.topics ?? []) {
          const start = i + 1 - topic.length;
          if (isBounded(text, topic, start)) yield { index: topic.index, start, end: i + 1 };
        }
      }
    }
  }

  #step(from: number, unit: number): number {
    for (let state = from; ; state = this.#states[state]?.fallback ?? 0) {
      const next = this.#states[state]?.next.get(unit);
      if (next !== undefined) return next;
      if (state === 0) return 0;
    }
  }

  #endingAt(state: number): number {
    const { topics, ending } = this.#states[state] ?? newState();
    return topics.length > 0 ? state : ending;
  }

  #add(words: string, index: number): void {
    const { length } = words;
    if (length === 0) return;
    this.longest = Math.max(this.longest, length);
    let state = 0;
    for (let i = 0; i < length; i += 1) {
      const unit = words.charCodeAt(i);
      const next = this.#states[state]?.next.get(unit) ?? this.#states.push(newState()) - 1;
      this.#states[state]?.next.set(unit, next);
      state = next;
    }
    const isPhrase = words.includes(' ');
    const needsStart = !isPhrase && isSpacedWordCharacter(firstCharacter(words));
    const needsEnd = !isPhrase && isSpacedWordCharacter(lastCharacter(words, length));
    this.#states[state]?.topics.push({ index, length, needsStart, needsEnd });
  }

  /** Breadth first, so that the fallback of a state is complete before longer states need it. */
  #linkFallbacks(): void {
    const queue = [0];
    for (const state of queue) {
      for (const [unit, next] of this.#states[state]?.next ?? []) {
        const target = this.#states[next];
        if (target === undefined) continue;
        const fallback = state === 0 ? 0 : this.#step(this.#states[state]?.fallback ?? 0, unit);
        target.fallback = fallback;
        target.ending = this.#endingAt(fallback);
        queue.push(next);
      }
    }
  }
}

const newState = (): State => ({ next: new Map(), fallback: 0, topics: [], ending: 0 });

function isBounded(text: string, { length, needsStart, needsEnd }: CompiledTopic, start: number): boolean {
  if (needsStart && WORD_CHARACTER.test(lastCharacter(text, start))) return false;
  return !needsEnd || !WORD_CHARACTER.test(firstCharacter(text, start + length));
}

const isSpacedWordCharacter = (character: string): boolean =>
  WORD_CHARACTER.test(character) && !UNSPACED_SCRIPT.test(character);

/** The character that begins at `at`; empty at the end. */
function firstCharacter(text: string, at = 0): string {
  const code = text.codePointAt(at);
  return code === undefined ? '' : String.fromCodePoint(code);
}

/** The character that ends before `end`; empty at the beginning. */
function lastCharacter(text: string, end: number): string {
  const isPair = end >= 2 && (text.codePointAt(end - 2) ?? 0) > 0xffff;
  return text.slice(isPair ? end - 2 : Math.max(0, end - 1), end);
}
