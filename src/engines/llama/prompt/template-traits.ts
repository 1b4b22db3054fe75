import { CALL_FORMATS, type CallFormat, TAGGED } from '../tool-calls/call-format.ts';
import { CallParser } from '../tool-calls/call-parser.ts';

/** Renders messages, in the shape of the wire, with a template. Throws what the template throws. */
export type Render = (
  messages: readonly object[],
  tools: readonly object[],
  documents: readonly { title: string; text: string }[],
) => string;

/** What a template can write. Templates do not say it, so they are tried. */
export interface TemplateTraits {
  /**
   * It shows functions, past calls and their results to its model, in a form of calls that is known here. Where it does
   * not, all of them are written as plain text.
   */
  knowsCalls: boolean;
  callFormat: CallFormat;
  /** Past arguments as an object; otherwise as JSON text. */
  argumentObjects: boolean;
  /** Identifiers of calls must have nine letters and digits. */
  shortIds: boolean;
  /** The content beside calls may be null, and that differs from an empty text. */
  nullContent: boolean;
  /** A message may have one call only. */
  oneCallEach: boolean;
  /** Text beside calls is lost, but may stand in a message of its own before them. */
  splitsText: boolean;
  /** Functions are described in the first message of a user, so there must be one. */
  functionsNeedUser: boolean;
  /** A user may follow a function's result at once. */
  userAfterResult: boolean;
  /** What a message may have that stands only for its turn: nothing, or dots where a template takes that for no message. */
  emptyTurn: '' | '...';
  /** A system message may come first, and is still seen behind calls and results. */
  systemFirst: boolean;
  /** It may be the only one. */
  systemAlone: boolean;
  /** There may be several, and later ones too. */
  systemAnywhere: boolean;
  /** It renders documents beside the messages. */
  documents: boolean;
  /** One role may have several messages in a row. */
  repeatedRoles: boolean;
  /** The first message, but for the system's, may be the assistant's. */
  assistantFirst: boolean;
}

/** Texts that a template cannot have of its own. */
const ASKED = 'probe-question';
const SAID = 'probe-answer';
const AGAIN = 'probe-again';
const TOLD = 'probe-system';
const RESULT = 'probe-result';
const NAME = 'probe_function';
const OTHER = 'probe_other';
const ARGUMENTS = { probe: 1 };
const WRITTEN_ARGUMENTS = /\{\s*"probe"\s*:\s*1\s*\}/;
const LONG_ID = 'call_01hzzzzzzzzzzzzzzzzzzzzzzz';
const SHORT_IDS = ['probe0001', 'probe0002'] as const;

const user = (content: string): object => ({ role: 'user', content });
const assistant = (content: string): object => ({ role: 'assistant', content });
const system = (content: string): object => ({ role: 'system', content });
const TOOL = {
  type: 'function',
  function: {
    name: NAME,
    description: 'Probes.',
    parameters: {
      type: 'object',
      properties: { probe: { type: 'integer', description: 'One.' } },
      required: ['probe'],
    },
  },
};

/** How past calls are to be given to a template. */
interface CallStyle {
  objects: boolean;
  ids: readonly [string, string];
}

/** Finds out what a template can write. `source` is its text. */
export function templateTraits(source: string, render: Render): TemplateTraits {
  const attempt: Attempt = (messages, tools = [], documents = []) => {
    try {
      return render(messages, tools, documents);
    } catch {
      // A refusal is what the trial is about.
      return null;
    }
  };
  const turns = turnTraits(attempt);
  const { systemBeforeCalls, ...calls } = callTraits(source, attempt);
  const documents = attempt([user(ASKED)], [], [{ title: NAME, text: RESULT }])?.includes(RESULT) === true;
  return { ...turns, ...calls, documents, systemFirst: turns.systemFirst && systemBeforeCalls };
}

type Attempt = (
  messages: readonly object[],
  tools?: readonly object[],
  documents?: readonly { title: string; text: string }[],
) => string | null;
type TurnTraits = Pick<
  TemplateTraits,
  'systemFirst' | 'systemAlone' | 'systemAnywhere' | 'repeatedRoles' | 'assistantFirst' | 'emptyTurn'
>;

function turnTraits(attempt: Attempt): TurnTraits {
  const writes = (messages: readonly object[], ...texts: string[]): boolean => {
    const written = attempt(messages);
    return written !== null && texts.every((text) => written.includes(text));
  };
  return {
    systemFirst: writes([system(TOLD), user(ASKED)], TOLD),
    systemAlone: writes([system(TOLD)], TOLD),
    systemAnywhere:
      writes([system(TOLD), user(ASKED), assistant(SAID), system(AGAIN), user(ASKED)], TOLD, AGAIN) &&
      writes([system(TOLD), system(AGAIN), user(ASKED)], TOLD, AGAIN),
    repeatedRoles:
      writes([user(ASKED), user(AGAIN)], ASKED, AGAIN) &&
      writes([user(ASKED), assistant(SAID), assistant(AGAIN), user(ASKED)], SAID, AGAIN),
    assistantFirst: writes([assistant(SAID), user(ASKED)], SAID),
    emptyTurn: writes([user(ASKED), assistant(''), user(AGAIN)], ASKED, AGAIN) ? '' : '...',
  };
}

function callMessage(style: CallStyle, names: readonly string[], content: string | null): object {
  const given = style.objects ? ARGUMENTS : JSON.stringify(ARGUMENTS);
  const tool_calls = names.map((name, index) => ({
    id: style.ids[index],
    type: 'function',
    function: { name, arguments: given },
  }));
  return { role: 'assistant', content, tool_calls };
}

const result = (style: CallStyle, index: 0 | 1): object => ({
  role: 'tool',
  content: RESULT,
  tool_call_id: style.ids[index],
});

const STYLES: readonly CallStyle[] = [LONG_ID, SHORT_IDS[0]].flatMap((first) =>
  [true, false].map((objects): CallStyle => {
    const ids: CallStyle['ids'] = first === LONG_ID ? [LONG_ID, `${LONG_ID}0`] : SHORT_IDS;
    return { objects, ids };
  }),
);

type CallTraits = Omit<TemplateTraits, keyof TurnTraits | 'documents'> & { systemBeforeCalls: boolean };

function callTraits(source: string, attempt: Attempt): CallTraits {
  const calledBy = (style: CallStyle, content: string | null): object[] => [
    user(ASKED),
    callMessage(style, [NAME], content),
    result(style, 0),
  ];
  const style = STYLES.find((tried) => WRITTEN_ARGUMENTS.test(attempt(calledBy(tried, ''), [TOOL]) ?? ''));
  const written = style === undefined ? null : attempt(calledBy(style, ''), [TOOL]);
  const callFormat =
    written === null ? null : (formatIn(written, attempt([user(ASKED)], [TOOL])) ?? formatNamed(source));
  const shows = attempt([user(ASKED)], [TOOL])?.includes(NAME) === true;
  if (style === undefined || callFormat === null || !shows || written?.includes(RESULT) !== true) return NO_CALLS;
  const two = attempt([user(ASKED), callMessage(style, [NAME, OTHER], ''), result(style, 0), result(style, 1)], [TOOL]);
  const withNull = attempt(calledBy(style, null), [TOOL]);
  const spoken = attempt(calledBy(style, SAID), [TOOL]);
  const apart = attempt([user(ASKED), assistant(SAID), ...calledBy(style, '').slice(1), assistant(AGAIN)], [TOOL]);
  return {
    knowsCalls: true,
    callFormat,
    argumentObjects: style.objects,
    shortIds: style.ids === SHORT_IDS,
    nullContent: withNull !== null && withNull !== written && !/\b(null|None|undefined)\b/.test(withNull),
    oneCallEach: two?.includes(OTHER) !== true,
    splitsText: !tellsBoth(spoken) && tellsBoth(apart),
    systemBeforeCalls: attempt([system(TOLD), ...calledBy(style, '')], [TOOL])?.includes(TOLD) === true,
    functionsNeedUser: attempt([system(TOLD)], [TOOL]) === null,
    userAfterResult: attempt([...calledBy(style, ''), user(AGAIN)], [TOOL])?.includes(AGAIN) === true,
  };
}

const NO_CALLS: CallTraits = {
  knowsCalls: false,
  callFormat: TAGGED,
  argumentObjects: false,
  shortIds: false,
  nullContent: false,
  oneCallEach: false,
  splitsText: false,
  functionsNeedUser: false,
  systemBeforeCalls: true,
  userAfterResult: true,
};

/** Whether both a text and the call that follows it were written. */
const tellsBoth = (written: string | null): boolean =>
  written?.includes(SAID) === true && WRITTEN_ARGUMENTS.test(written);

/** The form in which a template wrote the tried call. `opened`: its prompt up to where the answer begins. */
function formatIn(written: string, opened: string | null): CallFormat | null {
  const turn = written.slice(written.lastIndexOf(ASKED) + ASKED.length);
  const before = opened?.slice(opened.lastIndexOf(ASKED) + ASKED.length);
  for (const format of CALL_FORMATS) {
    const at = turn.indexOf(format.begin);
    if (at >= 0 && isCall(format, turn.slice(at + format.begin.length))) return format;
    // Without a marker it must be the first thing that the answer says, or the marker is one that is not known here.
    if (format.bare === null || before === undefined || !turn.startsWith(before)) continue;
    if (isCall(format, turn.slice(before.length))) return format;
  }
  return null;
}

function isCall(format: CallFormat, text: string): boolean {
  const parts = new CallParser(format, true).push(text);
  const name = parts.find((part) => part.kind === 'name')?.name;
  const given = parts.map((part) => (part.kind === 'arguments' ? part.text : '')).join('');
  return name === NAME && WRITTEN_ARGUMENTS.test(given) && parts.some((part) => part.kind === 'end');
}

/** The form that a template describes in words, where the one that it writes is not told by a trial. */
function formatNamed(source: string): CallFormat | null {
  return /<tool_call>(\\n|\s)*\{\\?"name/.test(source) ? TAGGED : null;
}
