/** A part of the text around a call's name and arguments. */
export type FormatPart =
  /**
   * White space, or none; `rule` is how much of it a grammar allows. Never last: how much there is would depend on
   * where the text is cut.
   */
  | { kind: 'space'; rule: 'ws' | 'sp' | null }
  /** One of these, none of which begins another. The first is the one that a grammar makes. */
  | { kind: 'text'; texts: readonly string[] }
  /** The function's name: a JSON string, or the bare characters. */
  | { kind: 'name'; quoted: boolean }
  /** An identifier that the model makes up, which nobody keeps: ours is told instead. */
  | { kind: 'id' }
  | { kind: 'optional'; parts: readonly FormatPart[] };

/** How a model writes calls. The arguments are a JSON object in all of them. Parser and grammar are both made from it. */
export interface ToolCallFormat {
  /** What begins calls in the middle of an answer; it is looked for there. */
  begin: string;
  /** Calls also begin where an answer does, without a marker: what must stand there, else null. */
  bare: string | null;
  /** From behind `begin` to the first call. */
  open: readonly FormatPart[];
  /** From a call's beginning to its arguments; has the name. */
  head: readonly FormatPart[];
  /** From the arguments to where the call is complete. */
  tail: readonly FormatPart[];
  /** Follows a complete call. Models forget it, so nothing depends on it. */
  close: readonly FormatPart[];
  /** From one call to the next. */
  between: readonly FormatPart[];
  /** Follows the last call. Models forget it, too. */
  end: readonly FormatPart[];
  /** All spellings that have a meaning here. Where they are control tokens, the model must be able to make them. */
  markers: readonly string[];
}

const space: FormatPart = { kind: 'space', rule: 'ws' };
const gap: FormatPart = { kind: 'space', rule: 'sp' };
/** Where no model writes any: a grammar that allows it would only lead a weak one astray. */
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

/** `{"name": "f", "arguments": `, the beginning of an object, with what may stand before the name. */
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

/** `<tool_call>`, the object and `</tool_call>`, each on a line: Hermes, Qwen, and what a model without a form is told. */
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

/** `{"name": "f", "parameters": {}}` as the whole answer, perhaps behind `<|python_tag|>`: Llama 3.1 and later. */
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

/** `<function=f>{}</function>`: a form that some Llama 3 fine-tunes are shown. */
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

/** The same list behind another marker: Granite 3. */
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

/** The forms in the order in which a template's own writing is tried on them: what has no marker comes last. */
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

/** What a text is to some parts: their whole, with what it ends with and the name in it; a beginning; neither. */
export type PartMatch = { length: number; name: string | null } | 'more' | 'no';

const BARE_NAME = /[A-Za-z0-9_.-]*/y;
const QUOTED = /"(?:[^"\\]|\\.)*"/y;
const SPACE = /\s*/y;

/** Characters that a name or an identifier may have in a stream: one has 64, and escapes take six each. */
const MAX_NAME_CHARACTERS = 512;

/** Reads `parts` at the beginning of `whole`. Says `more` as long as what may follow decides. */
export function matchParts(parts: readonly FormatPart[], whole: string): PartMatch {
  return matchFrom(parts, whole, 0);
}

function matchFrom(parts: readonly FormatPart[], whole: string, from: number): PartMatch {
  let at = from;
  let name: string | null = null;
  for (const part of parts) {
    const found = matchPart(part, whole, at);
    if (found === 'more') return 'more';
    if (found === 'no') {
      if (part.kind === 'optional') continue;
      return 'no';
    }
    at += found.length;
    name = found.name ?? name;
  }
  return { length: at - from, name };
}

function matchPart(part: FormatPart, whole: string, at: number): PartMatch {
  if (part.kind === 'space') return { length: matchAt(SPACE, whole, at).length, name: null };
  if (part.kind === 'optional') return matchFrom(part.parts, whole, at);
  if (part.kind === 'text') {
    const found = part.texts.find((wanted) => whole.startsWith(wanted, at));
    if (found !== undefined) return { length: found.length, name: null };
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
  const found = matchAt(QUOTED, whole, at);
  if (found !== '') return { length: found.length, name: parseQuoted(found) };
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
    // Not valid JSON, so no function has this name, and the caller finds that out.
    return json;
  }
}
