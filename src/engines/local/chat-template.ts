import { Template } from '@huggingface/jinja';
import { invalidValue } from '../../errors.ts';
import type { ChatMessage, FunctionTool } from '../engine.ts';
import type { ThinkTags } from './answer.ts';
import type { CallFormat } from './calls/call-format.ts';
import { arrangeMessages, type WrittenMessage } from './chat-history.ts';
import { DOCUMENT_MARKERS, type ShownPassage } from './guide.ts';
import { type TemplateTraits, templateTraits } from './template-traits.ts';

/** What llama.cpp takes when a file has no template. The source is the ChatML of its `llama-chat.cpp`. */
const CHATML =
  "{% for message in messages %}{{ '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

/** Unassigned for good (Unicode noncharacters): what is put into callers' texts to break the control tokens there. */
const NONCHARACTERS = Array.from({ length: 32 }, (_, i) => String.fromCharCode(0xfdd0 + i));

/** What models that think put around it. */
const THINK_TAGS: readonly ThinkTags[] = [
  { open: '<think>', close: '</think>' },
  { open: '[THINK]', close: '[/THINK]' },
];

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
  readonly #traits: TemplateTraits;

  /** `controls`: the spellings of the model's control tokens. Throws an Error when the template is not valid. */
  constructor(source: string | null, controls: readonly string[], tokens: { bos: string; eos: string }) {
    this.#source = source ?? CHATML;
    this.#tokens = tokens;
    this.#template = new Template(this.#source);
    this.#traits = templateTraits(this.#source, (messages, tools) => this.#render(messages, tools));
    this.#armed = [...controls, ...this.callFormat.markers].filter((text) => text.length > 1);
    this.#armedPattern = new RegExp(this.#armed.map((text) => RegExp.escape(text)).join('|'), 'g');
  }

  get source(): string {
    return this.#source;
  }

  /** How this template's model writes calls. */
  get callFormat(): CallFormat {
    return this.#traits.callFormat;
  }

  /** What thinking stands between in answers of this model; null when it is not known to think. */
  get thinkTags(): ThinkTags | null {
    return THINK_TAGS.find(({ open }) => this.#source.includes(open)) ?? null;
  }

  /**
   * The prompt of a chat, up to where the model's answer begins, with the passages in its first system turn. Throws 400
   * when the template refuses the messages.
   */
  render(
    messages: readonly ChatMessage[],
    tools: readonly FunctionTool[],
    passages: readonly ShownPassage[] = [],
  ): RenderedPrompt {
    const arranged = arrangeMessages(messages, tools, this.#traits);
    const shown = this.#traits.knowsCalls ? tools : [];
    const mark = unusedMark(JSON.stringify([arranged, shown, passages]));
    const disarm = (text: string): string => this.#disarmed(text, mark);
    const safe = withPassages(mapTexts(arranged, disarm) as WrittenMessage[], passages, disarm);
    const safeTools = mapTexts(shown, disarm) as FunctionTool[];
    try {
      return { text: this.#renderWith(safe, safeTools), mark };
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw invalidValue('messages', `cannot be written in this model's chat template (${why.slice(0, 200)})`);
    }
  }

  /** Functions may lack a description or parameters, which some templates cannot do without. */
  #renderWith(messages: readonly object[], tools: readonly FunctionTool[]): string {
    try {
      return this.#render(messages, tools);
    } catch (error) {
      if (tools.length === 0) throw error;
      return this.#render(messages, tools.map(withAllMembers));
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

  /** Some templates take it for granted that there is a list of functions; others take an empty one for functions. */
  #render(messages: readonly object[], tools: readonly object[]): string {
    if (tools.length > 0) return this.#write(messages, { tools: [...tools] });
    try {
      return this.#write(messages, {});
    } catch (error) {
      try {
        return this.#write(messages, { tools: [] });
      } catch {
        throw error;
      }
    }
  }

  /** `raise_exception` and `strftime_now`, which templates call, come with the renderer. */
  #write(messages: readonly object[], tools: { tools?: object[] }): string {
    return this.#template.render({
      messages: [...messages],
      ...tools,
      add_generation_prompt: true,
      bos_token: this.#tokens.bos,
      eos_token: this.#tokens.eos,
    });
  }
}

/** `tool` with whatever a template may ask for, empty where the caller left it out. */
function withAllMembers({ type, function: called }: FunctionTool): FunctionTool {
  const parameters = { type: 'object', ...called.parameters };
  const properties = Object.entries(Object(called.parameters?.['properties']));
  const described = properties.map(([name, schema]) => [name, { description: '', ...Object(schema) }]);
  return {
    type,
    function: { description: '', ...called, parameters: { ...parameters, properties: Object.fromEntries(described) } },
  };
}

/** The messages with passages behind their markers, which count, at the end of the first system turn. */
function withPassages(
  messages: readonly WrittenMessage[],
  passages: readonly ShownPassage[],
  disarm: (text: string) => string,
): readonly WrittenMessage[] {
  if (passages.length === 0) return messages;
  const written = passages.map(
    ({ text, marked }) => (marked ? DOCUMENT_MARKERS.marked : DOCUMENT_MARKERS.passage) + disarm(text),
  );
  const [first, ...others] = messages;
  if (first?.role !== 'system') return [{ role: 'system', content: written.join('') }, ...messages];
  return [{ ...first, content: `${first.content ?? ''}\n\n${written.join('')}` }, ...others];
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
