/** A part of the text around the name and the arguments of a call. */
export type FormatPart =
  /**
   * White space or nothing; `rule`: how much of it the grammar allows. Never last, because its length would depend on
   * how the text is split.
   */
  | { kind: 'space'; rule: 'ws' | 'sp' | null }
  /** One of several texts. No text is a prefix of another. The grammar generates the first one. */
  | { kind: 'text'; texts: readonly string[] }
  /** The function name: a JSON string or bare characters. */
  | { kind: 'name'; quoted: boolean }
  /** A call id that the model invents. It is replaced by a new one. */
  | { kind: 'id' }
  | { kind: 'optional'; parts: readonly FormatPart[] };

/**
 * Syntax of the tool calls of a model family. The arguments are always a JSON object. Parser and grammar are derived
 * from it.
 */
export interface ToolCallFormat {
  /** Marker that starts calls within a completion. */
  begin: string;
  /** Text that starts calls at the start of a completion, without a marker; null when a marker is required. */
  bare: string | null;
  /** From `begin` to the first call. */
  open: readonly FormatPart[];
  /** From the start of a call to its arguments; contains the name. */
  head: readonly FormatPart[];
  /** From the arguments to the point where the call is complete. */
  tail: readonly FormatPart[];
  /** Follows a complete call. Optional when parsing, because models omit it. */
  close: readonly FormatPart[];
  /** Between two calls. */
  between: readonly FormatPart[];
  /** Follows the last call. Optional when parsing. */
  end: readonly FormatPart[];
  /** All special spellings of the format. Where they are control tokens, the model may generate them. */
  markers: readonly string[];
}

const space: FormatPart = { kind: 'space', rule: 'ws' };
const gap: FormatPart = { kind: 'space', rule: 'sp' };
/** White space that no model writes: allowing it in a grammar misleads weak models. */
const unwritten: FormatPart = { kind: 'space', rule: null };
const text = (...texts: string[]): FormatPart => ({ kind: 'text', texts });
const optional = (...parts: FormatPart[]): FormatPart => ({ kind: 'optional', parts });
const quotedName: FormatPart = { kind: 'name', quoted: true };
const bareName: FormatPart = { kind: 'name', quoted: false };

/** A member of a JSON object up to its value. */
const member = (...keys: string[]): FormatPart[] => [
  text(...keys.map((key) => JSON.stringify(key))),
  unwritten,
  text(':'),
  gap,
];

/** `{"name": "f", "arguments": `, with what may precede the name. */
const objectHead = (keys: string[], ...before: FormatPart[]): FormatPart[] => [
  space,
  text('{'),
  space,
  ...before,
  ...member('name'),
  quotedName,
  unwritten,
  text(','),
  space,
  text(...keys.map((key) => JSON.stringify(key))),
  unwritten,
  text(':'),
];
const OBJECT_TAIL: readonly FormatPart[] = [space, text('}')];

/** `<|tool_call|>{"name": "f", "arguments": {}}`: the bundled model. */
const BUNDLED: ToolCallFormat = {
  begin: '<|tool_call|>',
  bare: null,
  open: [],
  head: objectHead(['arguments', 'parameters']),
  tail: OBJECT_TAIL,
  close: [],
  between: [space, text('<|tool_call|>')],
  end: [],
  markers: ['<|tool_call|>'],
};

/**
 * `<tool_call>`, the object and `</tool_call>`, each on a line: Hermes, Qwen, and models without a format of their own.
 */
export const TAGGED: ToolCallFormat = {
  begin: '<tool_call>',
  bare: null,
  open: [],
  head: objectHead(['arguments', 'parameters']),
  tail: OBJECT_TAIL,
  close: [space, text('</tool_call>')],
  between: [space, text('<tool_call>')],
  end: [],
  markers: ['<tool_call>', '</tool_call>'],
};

/** `{"name": "f", "parameters": {}}` as the whole completion, perhaps behind `<|python_tag|>`: Llama 3.1 and later. */
const BARE: ToolCallFormat = {
  begin: '<|python_tag|>',
  bare: '{',
  open: [],
  head: objectHead(
    ['parameters', 'arguments'],
    optional(...member('type'), text('"function"'), unwritten, text(','), space),
  ),
  tail: OBJECT_TAIL,
  close: [],
  between: [space, optional(text(';')), space, optional(text('<|python_tag|>'))],
  end: [],
  markers: ['<|python_tag|>'],
};

/** `<function=f>{}</function>`: some fine-tunes of Llama 3. */
const FUNCTION_TAG: ToolCallFormat = {
  begin: '<function=',
  bare: null,
  open: [],
  head: [bareName, text('>')],
  tail: [],
  close: [space, text('</function>')],
  between: [space, text('<function=')],
  end: [],
  markers: ['<function=', '</function>'],
};

/** `[TOOL_CALLS][{"name": "f", "arguments": {}, "id": "..."}]`: Mistral up to its third tokenizer, and Nemo. */
const LISTED: ToolCallFormat = {
  begin: '[TOOL_CALLS]',
  bare: null,
  open: [space, text('[')],
  head: objectHead(['arguments', 'parameters']),
  tail: [space, optional(text(','), gap, ...member('id'), text('"'), { kind: 'id' }, text('"'), unwritten), text('}')],
  close: [],
  between: [space, text(',')],
  end: [space, text(']')],
  markers: ['[TOOL_CALLS]'],
};

/** The same list with another marker: Granite 3. */
const MARKED_LIST: ToolCallFormat = { ...LISTED, begin: '<|tool_call|>', markers: ['<|tool_call|>'] };

/** `[TOOL_CALLS]f[ARGS]{}`, in some versions with `[CALL_ID]...` between the two: later Mistral models. */
const NAMED: ToolCallFormat = {
  begin: '[TOOL_CALLS]',
  bare: null,
  open: [],
  head: [space, bareName, optional(text('[CALL_ID]'), { kind: 'id' }), text('[ARGS]')],
  tail: [],
  close: [],
  between: [space, text('[TOOL_CALLS]')],
  end: [],
  markers: ['[TOOL_CALLS]', '[CALL_ID]', '[ARGS]'],
};

const DEEPSEEK = {
  begin: '<｜tool▁calls▁begin｜>',
  call: '<｜tool▁call▁begin｜>',
  separator: '<｜tool▁sep｜>',
  close: '<｜tool▁call▁end｜>',
  end: '<｜tool▁calls▁end｜>',
};

/** DeepSeek's tokens around a name and a block of JSON: V3 and R1. */
const FENCED: ToolCallFormat = {
  begin: DEEPSEEK.begin,
  bare: null,
  open: [space, text(DEEPSEEK.call)],
  head: [text(`function${DEEPSEEK.separator}`), bareName, text('\n```json\n')],
  tail: [],
  close: [space, text('```'), space, text(DEEPSEEK.close)],
  between: [space, text(DEEPSEEK.call)],
  end: [space, text(DEEPSEEK.end)],
  markers: Object.values(DEEPSEEK),
};

/** The same tokens around a bare name and bare JSON: V3.1. */
const SEPARATED: ToolCallFormat = {
  ...FENCED,
  head: [bareName, text(DEEPSEEK.separator)],
  close: [space, text(DEEPSEEK.close)],
};

/** The formats in the order in which they are matched against a template. Those without a marker come last. */
export const TOOL_CALL_FORMATS: readonly ToolCallFormat[] = [
  BUNDLED,
  TAGGED,
  FUNCTION_TAG,
  LISTED,
  MARKED_LIST,
  NAMED,
  FENCED,
  SEPARATED,
  BARE,
];

/**
 * Result of matching parts: a match with its length and the name in it; `more`: a prefix, further text decides; `no`.
 */
export type PartMatch = { length: number; name: string | null } | 'more' | 'no';

const BARE_NAME = /[A-Za-z0-9_.-]*/y;
const QUOTED = /"(?:[^"\\]|\\.)*"/y;
const SPACE = /\s*/y;

/** Maximum characters of an escaped name or id: 64 characters, each an escape of at most six characters. */
const MAX_NAME_CHARACTERS = 512;

/** Matches `parts` at the start of `whole`. */
export function matchParts(parts: readonly FormatPart[], whole: string): PartMatch {
  return matchFrom(parts, whole, 0);
}

function matchFrom(parts: readonly FormatPart[], whole: string, from: number): PartMatch {
  let at = from;
  let name: string | null = null;
  for (const part of parts) {
    const match = matchPart(part, whole, at);
    if (match === 'more') return 'more';
    if (match === 'no') {
      if (part.kind === 'optional') continue;
      return 'no';
    }
    at += match.length;
    name = match.name ?? name;
  }
  return { length: at - from, name };
}

function matchPart(part: FormatPart, whole: string, at: number): PartMatch {
  if (part.kind === 'space') return { length: matchAt(SPACE, whole, at).length, name: null };
  if (part.kind === 'optional') return matchFrom(part.parts, whole, at);
  if (part.kind === 'text') {
    const match = part.texts.find((wanted) => whole.startsWith(wanted, at));
    if (match !== undefined) return { length: match.length, name: null };
    const rest = whole.slice(at);
    return part.texts.some((wanted) => wanted.startsWith(rest)) ? 'more' : 'no';
  }
  if (part.kind === 'name' && part.quoted) return matchQuoted(whole, at);
  const run = matchAt(BARE_NAME, whole, at);
  if (run.length > MAX_NAME_CHARACTERS) return 'no';
  if (at + run.length === whole.length) return 'more';
  if (run === '') return 'no';
  return { length: run.length, name: part.kind === 'name' ? run : null };
}

function matchQuoted(whole: string, at: number): PartMatch {
  const match = matchAt(QUOTED, whole, at);
  if (match !== '') return { length: match.length, name: parseQuoted(match) };
  const begun = at === whole.length || (whole[at] === '"' && whole.length - at <= MAX_NAME_CHARACTERS);
  return begun ? 'more' : 'no';
}

function matchAt(pattern: RegExp, whole: string, at: number): string {
  pattern.lastIndex = at;
  return pattern.exec(whole)?.[0] ?? '';
}

function parseQuoted(json: string): string {
  try {
    return String(JSON.parse(json));
  } catch {
    // Not valid JSON, so no function has this name.
    return json;
  }
}
