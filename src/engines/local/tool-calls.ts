import type { FunctionTool, ToolChoice } from '../engine.ts';
import { GrammarBuilder, literal } from './grammar.ts';
import { SchemaCompiler } from './schema-grammar.ts';

/** How a model writes a call: `begin`, white space as in `open`, JSON with a name and arguments, `close`. */
export interface CallFormat {
  begin: string;
  open: string;
  close: string;
  /** The member of the JSON that holds the arguments. */
  argumentsKey: 'arguments' | 'parameters';
}

const MARKED: CallFormat = { begin: '<|tool_call|>', open: '', close: '', argumentsKey: 'arguments' };
const TAGGED: CallFormat = { begin: '<tool_call>', open: '\n', close: '\n</tool_call>', argumentsKey: 'arguments' };

/** The form of calls that a chat template shows to its model. Templates that know no calls get the tagged form. */
export function callFormatOf(template: string): CallFormat {
  return template.includes(MARKED.begin) ? MARKED : TAGGED;
}

/** A part of a call, as it becomes known. */
export type CallPart =
  | { kind: 'name'; name: string }
  | { kind: 'arguments'; text: string }
  /** The call is complete; `rest` is what followed. */
  | { kind: 'end'; rest: string }
  /** It is no call. */
  | { kind: 'broken' };

const HEAD = /^\s*\{\s*"name"\s*:\s*("(?:[^"\\]|\\.)*")\s*,\s*"(?:arguments|parameters)"\s*:\s*(?=\{)/;
/** Characters before the arguments begin at most: a name has 64, and the rest is punctuation. */
const MAX_HEAD_CHARACTERS = 1_024;

/** Reads one call from a stream of text, wherever its pieces are cut. */
export class CallParser {
  /** All that was read, for when it turns out to be no call. */
  raw = '';
  #state: 'head' | 'arguments' | 'tail' | 'over' = 'head';
  #pending = '';
  #depth = 0;
  #inText = false;
  #escaped = false;

  push(piece: string): CallPart[] {
    this.raw += piece;
    this.#pending += piece;
    const parts: CallPart[] = [];
    if (this.#state === 'head') this.#readHead(parts);
    if (this.#state === 'arguments') this.#readArguments(parts);
    if (this.#state === 'tail') this.#readTail(parts);
    return parts;
  }

  #readHead(parts: CallPart[]): void {
    const head = HEAD.exec(this.#pending);
    if (head?.[1] !== undefined) {
      this.#pending = this.#pending.slice(head[0].length);
      this.#state = 'arguments';
      parts.push({ kind: 'name', name: nameIn(head[1]) });
    } else if (this.#pending.length > MAX_HEAD_CHARACTERS || !/^\s*(\{|$)/.test(this.#pending)) {
      this.#break(parts);
    }
  }

  #readArguments(parts: CallPart[]): void {
    let end = 0;
    for (; end < this.#pending.length; end++) {
      if (this.#isLast(this.#pending[end] ?? '')) {
        this.#state = 'tail';
        end += 1;
        break;
      }
    }
    if (end > 0) parts.push({ kind: 'arguments', text: this.#pending.slice(0, end) });
    this.#pending = this.#pending.slice(end);
  }

  /** Whether `char` closes the object that the arguments are. */
  #isLast(char: string): boolean {
    if (this.#escaped) this.#escaped = false;
    else if (this.#inText) {
      if (char === '\\') this.#escaped = true;
      else if (char === '"') this.#inText = false;
    } else if (char === '"') this.#inText = true;
    else if (char === '{' || char === '[') this.#depth += 1;
    else if (char === '}' || char === ']') {
      this.#depth -= 1;
      return this.#depth === 0;
    }
    return false;
  }

  #readTail(parts: CallPart[]): void {
    const text = this.#pending.trimStart();
    if (text === '') return;
    if (text.startsWith('}')) {
      this.#state = 'over';
      parts.push({ kind: 'end', rest: text.slice(1) });
    } else this.#break(parts);
  }

  #break(parts: CallPart[]): void {
    this.#state = 'over';
    parts.push({ kind: 'broken' });
  }
}

function nameIn(json: string): string {
  try {
    return String(JSON.parse(json));
  } catch {
    // Not valid JSON, so no function has this name, and the caller finds that out.
    return json;
  }
}

/** The tools that a choice leaves. */
export function toolsFor(tools: readonly FunctionTool[], choice: ToolChoice): readonly FunctionTool[] {
  if (choice === 'none') return [];
  return typeof choice === 'object' ? tools.filter((tool) => tool.function.name === choice.name) : tools;
}

/**
 * Adds rules for what follows a `begin`: one call, or several where they may be parallel, each with arguments that its
 * function's schema accepts. `offered` is the list that paths in errors count in. Returns the rule's name.
 */
export function defineCalls(
  builder: GrammarBuilder,
  callable: readonly FunctionTool[],
  form: { format: CallFormat; parallel: boolean; offered: readonly FunctionTool[] },
): string {
  const { format, parallel, offered } = form;
  const ws = builder.json('ws');
  const sp = builder.json('sp');
  const bodies = callable.map((tool) => {
    const path = `tools.${offered.indexOf(tool)}.function.parameters`;
    const given = builder.define(builder.freshName('arguments'), argumentsRule(builder, tool, path), path);
    const name = literal(JSON.stringify(tool.function.name));
    const key = literal(JSON.stringify(format.argumentsKey));
    const body = `"{" ${sp} "\\"name\\":" ${sp} ${name} "," ${sp} ${key} ":" ${sp} ${given} ${sp} "}"`;
    return builder.define(builder.freshName('call'), body, path);
  });
  const call = builder.define('call', `${ws} (${bodies.join(' | ')})`, 'tools');
  const close = format.close === '' ? '""' : `${ws} ${literal(format.close.trim())}`;
  const more = parallel ? ` (${ws} ${literal(format.begin)} ${call} ${close})*` : '';
  return builder.define('calls', `${call} ${close}${more}`, 'tools');
}

function argumentsRule(builder: GrammarBuilder, tool: FunctionTool, path: string): string {
  const schema = tool.function.parameters ?? { type: 'object', properties: {}, additionalProperties: false };
  // A function's arguments are an object, whether its schema says so or not.
  return new SchemaCompiler(
    builder,
    schema['type'] === undefined && schema['$ref'] === undefined ? { ...schema, type: 'object' } : schema,
    path,
  ).compile();
}

/** The grammar of what follows a `begin`. */
export function callsGrammar(
  callable: readonly FunctionTool[],
  form: { format: CallFormat; parallel: boolean; offered: readonly FunctionTool[] },
): string {
  const builder = new GrammarBuilder();
  return builder.text(defineCalls(builder, callable, form));
}
