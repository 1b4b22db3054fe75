import { Template } from '@huggingface/jinja';
import { invalidValue } from '../../errors.ts';
import type { ChatMessage, FunctionTool } from '../engine.ts';
import { type CallFormat, callFormatOf } from './tool-calls.ts';

/** What llama.cpp takes when a file has no template. The source is the ChatML of its `llama-chat.cpp`. */
const CHATML =
  "{% for message in messages %}{{ '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

/** Unassigned for good (Unicode noncharacters): what is put into callers' texts to break the control tokens there. */
const NONCHARACTERS = Array.from({ length: 32 }, (_, i) => String.fromCharCode(0xfdd0 + i));

/** A rendered prompt. Control tokens in it are the template's own. */
export interface RenderedPrompt {
  text: string;
  /** What was put into callers' texts to break such tokens there; to be left out. */
  mark: string;
}

/** A model's chat template. */
export class ChatTemplate {
  readonly #template: Template;
  readonly #source: string;
  /** Spellings that must not come from a caller's text: control tokens, and what begins a call. */
  readonly #armed: readonly string[];
  readonly #armedPattern: RegExp;
  readonly #tokens: { bos: string; eos: string };
  readonly #takesArgumentObjects: boolean;
  /** How this template's model writes calls. */
  readonly callFormat: CallFormat;

  /** `controls`: the spellings of the model's control tokens. Throws an Error when the template is not valid. */
  constructor(source: string | null, controls: readonly string[], tokens: { bos: string; eos: string }) {
    this.#source = source ?? CHATML;
    this.callFormat = callFormatOf(this.#source);
    this.#armed = [...controls, this.callFormat.begin].filter((text) => text.length > 1);
    this.#armedPattern = new RegExp(this.#armed.map((text) => RegExp.escape(text)).join('|'), 'g');
    this.#tokens = tokens;
    this.#template = new Template(this.#source);
    this.#takesArgumentObjects = this.#rendersArgumentObjects();
  }

  get source(): string {
    return this.#source;
  }

  /** Whether the template has a place for the descriptions of functions. */
  get knowsTools(): boolean {
    return /\btools\b/.test(this.#source);
  }

  /** Whether answers of this model may begin with thinking between tags. */
  get thinks(): boolean {
    return this.#source.includes('<think>');
  }

  /** Templates differ in whether a past call's arguments are an object or JSON text; one tried call tells. */
  #rendersArgumentObjects(): boolean {
    if (!this.#source.includes('tool_calls')) return false;
    const call = { id: 'call_1', type: 'function', function: { name: 'f', arguments: { probe: 1 } } };
    const messages = [
      { role: 'user', content: 'a' },
      { role: 'assistant', content: '', tool_calls: [call] },
    ];
    try {
      return /\{\s*"probe"\s*:\s*1\s*\}/.test(this.#render(messages, []));
    } catch {
      // A template that refuses the trial gets the arguments as they are on the wire.
      return false;
    }
  }

  /** The prompt of a chat, up to where the model's answer begins. Throws 400 when the template refuses the messages. */
  render(messages: readonly ChatMessage[], tools: readonly FunctionTool[]): RenderedPrompt {
    const shown = this.knowsTools ? messages : withToolsAsText(messages, tools, this.callFormat);
    const mark = unusedMark(JSON.stringify([shown, tools]));
    const disarm = (text: string): string => this.#disarmed(text, mark);
    const safe = mapTexts(
      shown.map((message) => this.#shaped(message)),
      disarm,
    ) as unknown[];
    const safeTools = this.knowsTools ? (mapTexts(tools, disarm) as unknown[]) : [];
    try {
      return { text: this.#render(safe, safeTools), mark };
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw invalidValue('messages', `cannot be written in this model's chat template (${why.slice(0, 200)})`);
    }
  }

  /**
   * `text` with the mark inside of every such spelling, and at its ends where one might be completed by what the
   * template puts beside it. Nothing else changes, so a template sees the text as it is.
   */
  #disarmed(text: string, mark: string): string {
    let safe = text;
    // Again, for breaking one may leave another that overlapped it; each round breaks at least one.
    while (safe.search(this.#armedPattern) >= 0) {
      safe = safe.replace(this.#armedPattern, (spelling) => spelling.slice(0, 1) + mark + spelling.slice(1));
    }
    if (this.#armed.some((spelling) => endsWithBeginningOf(safe, spelling))) safe += mark;
    if (this.#armed.some((spelling) => beginsWithEndOf(safe, spelling))) safe = mark + safe;
    return safe;
  }

  #shaped(message: ChatMessage): unknown {
    const content = message.content ?? '';
    if (message.tool_calls === undefined || !this.#takesArgumentObjects) return { ...message, content };
    const calls = message.tool_calls.map((call) => ({
      ...call,
      function: { ...call.function, arguments: objectOr(call.function.arguments) },
    }));
    return { ...message, content, tool_calls: calls };
  }

  /** `raise_exception` and `strftime_now`, which templates call, come with the renderer. */
  #render(messages: unknown[], tools: unknown[]): string {
    return this.#template.render({
      messages,
      ...(tools.length > 0 ? { tools } : {}),
      add_generation_prompt: true,
      bos_token: this.#tokens.bos,
      eos_token: this.#tokens.eos,
    });
  }
}

function objectOr(json: string): unknown {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null ? value : json;
  } catch {
    // A model's own past call may be broken; it is shown as it was.
    return json;
  }
}

/** A mark that no text of the request contains. */
function unusedMark(texts: string): string {
  const free = NONCHARACTERS.find((char) => !texts.includes(char));
  if (free !== undefined) return free;
  let mark = '\ufdd0\ufdd1';
  while (texts.includes(mark)) mark += '\ufdd1';
  return mark;
}

function endsWithBeginningOf(text: string, control: string): boolean {
  for (let length = Math.min(control.length - 1, text.length); length > 0; length--) {
    if (text.endsWith(control.slice(0, length))) return true;
  }
  return false;
}

function beginsWithEndOf(text: string, control: string): boolean {
  for (let length = Math.min(control.length - 1, text.length); length > 0; length--) {
    if (text.startsWith(control.slice(-length))) return true;
  }
  return false;
}

function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [change(key), mapTexts(item, change)]));
}

/** For templates that know no functions: their descriptions as a system message, calls and results as plain messages. */
function withToolsAsText(
  messages: readonly ChatMessage[],
  tools: readonly FunctionTool[],
  format: CallFormat,
): readonly ChatMessage[] {
  const plain = messages.map((message) => asPlainMessage(message, format));
  if (tools.length === 0) return plain;
  const listed = tools.map((tool) => JSON.stringify(tool.function)).join('\n');
  const example = `${format.begin}${format.open}{"name": "function name", "${format.argumentsKey}": {}}${format.close}`;
  const text = `You can call these functions:\n${listed}\nTo call one, answer with:\n${example}`;
  const [first, ...others] = plain;
  if (first?.role === 'system') return [{ ...first, content: `${first.content}\n\n${text}` }, ...others];
  return [{ role: 'system', content: text }, ...plain];
}

function asPlainMessage(message: ChatMessage, format: CallFormat): ChatMessage {
  if (message.role === 'tool')
    return { role: 'user', content: `Result of the function call:\n${message.content ?? ''}` };
  if (message.tool_calls === undefined) return message;
  const calls = message.tool_calls.map(
    ({ function: { name, arguments: given } }) =>
      `${format.begin}${format.open}{"name": ${JSON.stringify(name)}, "${format.argumentsKey}": ${given}}${format.close}`,
  );
  return { role: 'assistant', content: [message.content ?? '', ...calls].join('\n').trim() };
}
