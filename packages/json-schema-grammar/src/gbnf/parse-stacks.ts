import { characters, contains } from '../schema/characters.ts';
import type { GrammarElements } from './elements.ts';
import { findShortestEnd } from './shortest-end.ts';

/**
 * Lookahead in structural characters of JSON, where alternatives start and end. No token of a known vocabulary has more
 * than four of them in valid JSON.
 */
const LOOKAHEAD = 4;
const STRUCTURAL = characters(Array.from('[]{},:" \n\t', (char) => [char.charCodeAt(0), char.charCodeAt(0)] as const));
/** Number of nodes after which unreferenced ones are collected. */
const MAX_NODES = 50_000;

/** An element to read, and the stack below it. Equal stacks of one grammar are one object. */
interface Stack {
  /** Position in the code; -1 below the last element. */
  readonly at: number;
  readonly below: Stack | null;
  above: Map<number, Stack> | null;
  /** Stacks after reading the top element. */
  next: readonly Stack[] | null;
  /** See `cost`; 0 until computed. */
  cost: number;
  /** Minimum characters to the end of the text; -1 until computed. */
  end: number;
}

/** A point in the text. Stays valid while the text continues. */
export type TextPosition = readonly Stack[];

/**
 * Simulates llama.cpp's grammar parser, which keeps one stack per derivation, to predict the cost of the next token.
 * llama.cpp cannot be interrupted: where alternatives share prefixes, stacks multiply until one token takes minutes.
 */
export class ParseStacks {
  readonly #elements: GrammarElements;
  readonly #isStructural: readonly boolean[];
  readonly #mostCost: number;
  #bottom = newStack(-1, null);
  #nodes = 0;
  #stacks: readonly Stack[];
  #isOver = false;

  /** `mostCost`: limit above which the simulation stops. */
  constructor(elements: GrammarElements, mostCost: number) {
    this.#elements = elements;
    this.#mostCost = mostCost;
    this.#isStructural = elements.sets.map((set) => STRUCTURAL.some((code) => contains(set, code)));
    const first = elements.rules[1] ?? 0;
    const starts = elements.alternatives.subarray(0, first);
    const open = new Set<Stack>();
    for (const start of starts) this.#open(this.#push(this.#bottom, start), open);
    this.#stacks = [...open];
  }

  /** Number of stacks. */
  get count(): number {
    return this.#stacks.length;
  }

  /** Number of elements of all stacks; more than `most` if there are more. */
  entries(most: number): number {
    let entries = 0;
    for (const stack of this.#stacks) {
      for (let part: Stack | null = stack; part !== null && entries <= most; part = part.below) entries += 1;
    }
    return entries;
  }

  /** Whether the text so far is complete. */
  get isComplete(): boolean {
    return this.#stacks.includes(this.#bottom);
  }

  /**
   * Stacks that llama.cpp visits to match all tokens, as far as structural characters multiply them; infinite above
   * `mostCost`. Not less than the number of stacks after the next token.
   */
  get cost(): number {
    let cost = 0;
    for (const stack of this.#stacks) {
      cost += this.#costOf(stack);
      if (cost > this.#mostCost || this.#isOver) return Number.POSITIVE_INFINITY;
    }
    return cost;
  }

  /** The point behind the text so far. */
  get position(): TextPosition {
    return this.#stacks;
  }

  /** Minimum characters that complete the text from a position; infinite where the grammar has no end. */
  endLength(position: TextPosition): number {
    return position.reduce((least, stack) => Math.min(least, this.#endOf(stack)), Number.POSITIVE_INFINITY);
  }

  /** A shortest text that completes the text from a position. `endLength` is finite. */
  endText(position: TextPosition): string {
    const { characterAt } = findShortestEnd(this.#elements);
    let text = '';
    for (let open = position; ; ) {
      const best = open.reduce((a, b) => (this.#endOf(b) < this.#endOf(a) ? b : a));
      if (best.below === null) return text;
      text += characterAt(best.at);
      open = this.#nextOf(best);
    }
  }

  /** Advances by text. False when the grammar rejects it, or the cost limit is exceeded. */
  follow(text: string): boolean {
    for (const char of text) {
      const code = char.codePointAt(0) ?? 0;
      const open = new Set<Stack>();
      for (const stack of this.#stacks) {
        const element = this.#elements.code[stack.at] ?? 0;
        const set = this.#elements.sets[element - 1];
        if (set === undefined || !contains(set, code)) continue;
        for (const next of this.#nextOf(stack)) open.add(next);
        if (open.size > this.#mostCost) this.#isOver = true;
        if (this.#isOver) return false;
      }
      this.#stacks = [...open];
    }
    if (this.#nodes > MAX_NODES) this.#letGo();
    return this.#stacks.length > 0;
  }

  #endOf(stack: Stack): number {
    if (stack.end >= 0) return stack.end;
    const { lengthFrom } = findShortestEnd(this.#elements);
    // A loop, because a nested text has a deep stack.
    const unknown: Stack[] = [];
    let part: Stack | null = stack;
    for (; part !== null && part.end < 0; part = part.below) unknown.push(part);
    let length = part?.end ?? 0;
    for (const each of unknown.reverse()) {
      if (each.below !== null) length += lengthFrom(each.at);
      each.end = length;
    }
    return length;
  }

  #costOf(stack: Stack): number {
    if (stack.cost === 0) stack.cost = this.#visits(stack, LOOKAHEAD, this.#mostCost);
    return stack.cost;
  }

  /** Visits of a stack and its successors; more than `most` if there are more. */
  #visits(stack: Stack, characters: number, most: number): number {
    const element = this.#elements.code[stack.at] ?? 0;
    let visits = 1;
    if (characters === 0 || this.#isStructural[element - 1] !== true) return visits;
    for (const next of this.#nextOf(stack)) {
      visits += this.#visits(next, characters - 1, most - visits);
      if (visits > most) break;
    }
    return visits;
  }

  #nextOf(stack: Stack): readonly Stack[] {
    if (stack.next !== null) return stack.next;
    const open = new Set<Stack>();
    if (stack.below !== null) this.#open(this.#push(stack.below, stack.at + 1), open);
    stack.next = [...open];
    return stack.next;
  }

  /** Adds to `open` the stacks that a stack derives without reading: each with a terminal on top, or the bottom. */
  #open(stack: Stack, open: Set<Stack>): void {
    const { code, alternatives, rules } = this.#elements;
    const seen = new Set([stack]);
    for (const top of seen) {
      const element = code[top.at] ?? 0;
      if (element >= 0 || top.below === null) {
        open.add(top);
        continue;
      }
      const rule = -element - 1;
      const rest = this.#push(top.below, top.at + 1);
      for (let way = rules[rule] ?? 0; way < (rules[rule + 1] ?? 0); way++) {
        seen.add(this.#push(rest, alternatives[way] ?? 0));
      }
      if (seen.size > this.#mostCost) {
        this.#isOver = true;
        return;
      }
    }
  }

  /** Pushes the sequence at `at`; nothing when the sequence is at its end. */
  #push(below: Stack, at: number): Stack {
    if (this.#elements.code[at] === 0) return below;
    below.above ??= new Map();
    const cached = below.above.get(at);
    if (cached !== undefined) return cached;
    this.#nodes += 1;
    const stack = newStack(at, below);
    below.above.set(at, stack);
    return stack;
  }

  /** Rebuilds the stacks without unreferenced nodes. */
  #letGo(): void {
    const bottom = newStack(-1, null);
    this.#nodes = 0;
    this.#bottom = bottom;
    this.#stacks = this.#stacks.map((stack) => {
      const places: number[] = [];
      for (let part: Stack = stack; part.below !== null; part = part.below) places.push(part.at);
      return places.reduceRight((below, at) => this.#push(below, at), bottom);
    });
  }
}

const newStack = (at: number, below: Stack | null): Stack => ({ at, below, above: null, next: null, cost: 0, end: -1 });
