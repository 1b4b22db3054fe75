import type { RoleTraits } from '../../message-roles.ts';
import { TAGGED, TOOL_CALL_FORMATS, type ToolCallFormat } from '../tool-calls/call-format.ts';
import { ToolCallParser } from '../tool-calls/call-parser.ts';

/** Renders messages in OpenAI's format with a template. Throws the error of the template. */
export type Render = (
  messages: readonly object[],
  tools: readonly object[],
  documents: readonly { title: string; text: string }[],
) => string;

/** What a template supports. Templates do not declare it, so it is found by probing. */
export interface TemplateTraits extends RoleTraits {
  /** Renders tools, past calls and results in a known call format. Otherwise they are rendered as plain text. */
  supportsToolCalls: boolean;
  toolCallFormat: ToolCallFormat;
  /** Past arguments as an object instead of JSON text. */
  argumentObjects: boolean;
  /** Call ids must consist of nine letters and digits. */
  shortIds: boolean;
  /** The content of a message with calls may be null, which is rendered differently from an empty text. */
  nullContent: boolean;
  /** A message may contain one call only. */
  oneCallPerMessage: boolean;
  /** The template drops the content of a message with calls, so the content gets a message of its own before it. */
  splitsText: boolean;
  /** Tools are described in the first user message, so there must be one. */
  toolsNeedUserMessage: boolean;
  /** A user message may follow a tool result. */
  userAfterResult: boolean;
  /** Content of an inserted message: empty, or dots where the template drops empty messages. */
  emptyTurn: '' | '...';
  /** A system message may be the only one. */
  systemAlone: boolean;
  /** Renders documents. */
  documents: boolean;
  /** The first message behind system messages may be the assistant's. */
  assistantFirst: boolean;
}

/** Probe texts that no template contains. */
const USER_TEXT = 'probe-question';
const ASSISTANT_TEXT = 'probe-answer';
const SECOND_TEXT = 'probe-again';
const SYSTEM_TEXT = 'probe-system';
const TOOL_RESULT = 'probe-result';
const FUNCTION_NAME = 'probe_function';
const OTHER_FUNCTION = 'probe_other';
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
    name: FUNCTION_NAME,
    description: 'Probes.',
    parameters: {
      type: 'object',
      properties: { probe: { type: 'integer', description: 'One.' } },
      required: ['probe'],
    },
  },
};

/** Form of past calls. */
interface CallStyle {
  objects: boolean;
  ids: readonly [string, string];
}

/** Probes the features that a template supports. `source` is its text. */
export function templateTraits(source: string, render: Render): TemplateTraits {
  const attempt: Attempt = (messages, tools = [], documents = []) => {
    try {
      return render(messages, tools, documents);
    } catch {
      // The template rejects the probe: that is the result.
      return null;
    }
  };
  const turns = turnTraits(attempt);
  const { systemBeforeCalls, ...calls } = callTraits(source, attempt);
  const documents =
    attempt([user(USER_TEXT)], [], [{ title: FUNCTION_NAME, text: TOOL_RESULT }])?.includes(TOOL_RESULT) === true;
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
    systemFirst: writes([system(SYSTEM_TEXT), user(USER_TEXT)], SYSTEM_TEXT),
    systemAlone: writes([system(SYSTEM_TEXT)], SYSTEM_TEXT),
    systemAnywhere:
      writes(
        [system(SYSTEM_TEXT), user(USER_TEXT), assistant(ASSISTANT_TEXT), system(SECOND_TEXT), user(USER_TEXT)],
        SYSTEM_TEXT,
        SECOND_TEXT,
      ) && writes([system(SYSTEM_TEXT), system(SECOND_TEXT), user(USER_TEXT)], SYSTEM_TEXT, SECOND_TEXT),
    repeatedRoles:
      writes([user(USER_TEXT), user(SECOND_TEXT)], USER_TEXT, SECOND_TEXT) &&
      writes(
        [user(USER_TEXT), assistant(ASSISTANT_TEXT), assistant(SECOND_TEXT), user(USER_TEXT)],
        ASSISTANT_TEXT,
        SECOND_TEXT,
      ),
    assistantFirst: writes([assistant(ASSISTANT_TEXT), user(USER_TEXT)], ASSISTANT_TEXT),
    emptyTurn: writes([user(USER_TEXT), assistant(''), user(SECOND_TEXT)], USER_TEXT, SECOND_TEXT) ? '' : '...',
  };
}

function callMessage(style: CallStyle, names: readonly string[], content: string | null): object {
  const argument = style.objects ? ARGUMENTS : JSON.stringify(ARGUMENTS);
  const tool_calls = names.map((name, index) => ({
    id: style.ids[index],
    type: 'function',
    function: { name, arguments: argument },
  }));
  return { role: 'assistant', content, tool_calls };
}

const result = (style: CallStyle, index: 0 | 1): object => ({
  role: 'tool',
  content: TOOL_RESULT,
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
    user(USER_TEXT),
    callMessage(style, [FUNCTION_NAME], content),
    result(style, 0),
  ];
  const style = STYLES.find((tried) => WRITTEN_ARGUMENTS.test(attempt(calledBy(tried, ''), [TOOL]) ?? ''));
  const written = style === undefined ? null : attempt(calledBy(style, ''), [TOOL]);
  const toolCallFormat =
    written === null ? null : (detectFormat(written, attempt([user(USER_TEXT)], [TOOL])) ?? formatInSource(source));
  const shows = attempt([user(USER_TEXT)], [TOOL])?.includes(FUNCTION_NAME) === true;
  if (style === undefined || toolCallFormat === null || !shows || written?.includes(TOOL_RESULT) !== true)
    return NO_CALLS;
  const two = attempt(
    [user(USER_TEXT), callMessage(style, [FUNCTION_NAME, OTHER_FUNCTION], ''), result(style, 0), result(style, 1)],
    [TOOL],
  );
  const withNull = attempt(calledBy(style, null), [TOOL]);
  const spoken = attempt(calledBy(style, ASSISTANT_TEXT), [TOOL]);
  const apart = attempt(
    [user(USER_TEXT), assistant(ASSISTANT_TEXT), ...calledBy(style, '').slice(1), assistant(SECOND_TEXT)],
    [TOOL],
  );
  return {
    supportsToolCalls: true,
    toolCallFormat,
    argumentObjects: style.objects,
    shortIds: style.ids === SHORT_IDS,
    nullContent: withNull !== null && withNull !== written && !/\b(null|None|undefined)\b/.test(withNull),
    oneCallPerMessage: two?.includes(OTHER_FUNCTION) !== true,
    splitsText: !writesBoth(spoken) && writesBoth(apart),
    systemBeforeCalls: attempt([system(SYSTEM_TEXT), ...calledBy(style, '')], [TOOL])?.includes(SYSTEM_TEXT) === true,
    toolsNeedUserMessage: attempt([system(SYSTEM_TEXT)], [TOOL]) === null,
    userAfterResult: attempt([...calledBy(style, ''), user(SECOND_TEXT)], [TOOL])?.includes(SECOND_TEXT) === true,
  };
}

const NO_CALLS: CallTraits = {
  supportsToolCalls: false,
  toolCallFormat: TAGGED,
  argumentObjects: false,
  shortIds: false,
  nullContent: false,
  oneCallPerMessage: false,
  splitsText: false,
  toolsNeedUserMessage: false,
  systemBeforeCalls: true,
  userAfterResult: true,
};

/** Whether both a text and the call behind it were rendered. */
const writesBoth = (written: string | null): boolean =>
  written?.includes(ASSISTANT_TEXT) === true && WRITTEN_ARGUMENTS.test(written);

/** Detects the format of the probed call. `opened`: the prompt up to the start of the completion. */
function detectFormat(written: string, opened: string | null): ToolCallFormat | null {
  const turn = written.slice(written.lastIndexOf(USER_TEXT) + USER_TEXT.length);
  const before = opened?.slice(opened.lastIndexOf(USER_TEXT) + USER_TEXT.length);
  for (const format of TOOL_CALL_FORMATS) {
    const at = turn.indexOf(format.begin);
    if (at >= 0 && isCall(format, turn.slice(at + format.begin.length))) return format;
    // Without a marker the call must come first, or the marker is unknown.
    if (format.bare === null || before === undefined || !turn.startsWith(before)) continue;
    if (isCall(format, turn.slice(before.length))) return format;
  }
  return null;
}

function isCall(format: ToolCallFormat, text: string): boolean {
  const parts = new ToolCallParser(format, true).push(text);
  const name = parts.find((part) => part.kind === 'name')?.name;
  const renderedArguments = parts.map((part) => (part.kind === 'arguments' ? part.text : '')).join('');
  return (
    name === FUNCTION_NAME && WRITTEN_ARGUMENTS.test(renderedArguments) && parts.some((part) => part.kind === 'end')
  );
}

/** The format that the template describes in words, where probing does not show it. */
function formatInSource(source: string): ToolCallFormat | null {
  return /<tool_call>(\\n|\s)*\{\\?"name/.test(source) ? TAGGED : null;
}
