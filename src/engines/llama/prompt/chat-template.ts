import { Template } from '@huggingface/jinja';
import { invalidValue } from '../../../errors.ts';
import { describeError } from '../../../lib/operator-error.ts';
import type { ChatMessage, FunctionTool, PromptDocument } from '../../engine.ts';
import type { ReasoningTags } from '../output/output-parser.ts';
import type { ToolCallFormat } from '../tool-calls/call-format.ts';
import { arrangeMessages, type TemplateMessage } from './chat-history.ts';
import { type TemplateTraits, templateTraits } from './template-traits.ts';

/** Template for files without one. Source: ChatML in `llama-chat.cpp`. */
const CHATML =
  "{% for message in messages %}{{ '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

/** Unicode noncharacters, never assigned: inserted into texts of callers to break control tokens there. */
const NONCHARACTERS = Array.from({ length: 32 }, (_, i) => String.fromCharCode(0xfdd0 + i));

/** Reasoning tags of known models. */
const THINK_TAGS: readonly ReasoningTags[] = [
  { open: '<think>', close: '</think>' },
  { open: '[THINK]', close: '[/THINK]' },
];

/** A template that replaces the one of the file, like `--chat-template` of llama-server. */
export interface TemplateOverride {
  /** Jinja. */
  source: string;
  /**
   * Spellings in the template that are ordinary tokens of the model. Like control tokens, they are escaped in texts of
   * callers, and the model does not generate them.
   */
  markers: readonly string[];
}

/** A rendered prompt. All control tokens in it are the template's own. */
export interface RenderedPrompt {
  text: string;
  /** Inserted into texts of callers to break control tokens. Dropped by the tokenizer. */
  mark: string;
}

/** The chat template of a model. */
export class ChatTemplate {
  /** See `TemplateOverride`. */
  readonly markers: readonly string[];
  readonly #template: Template;
  readonly #source: string;
  /** Spellings that are escaped in texts of callers: control tokens, and start markers of tool calls. */
  readonly #reserved: readonly string[];
  readonly #reservedPattern: RegExp;
  readonly #tokens: { bos: string; eos: string };
  readonly #traits: TemplateTraits;

  /**
   * `source`: null for a file without a template. `controls`: spellings of the control tokens. Throws an Error when the
   * template is invalid.
   */
  constructor(
    source: string | TemplateOverride | null,
    controls: readonly string[],
    tokens: { bos: string; eos: string },
  ) {
    const override = typeof source === 'object' ? source : null;
    this.#source = override?.source ?? (typeof source === 'string' ? source : CHATML);
    this.markers = override?.markers ?? [];
    this.#tokens = tokens;
    this.#template = new Template(this.#source);
    this.#traits = templateTraits(this.#source, (messages, tools, documents) =>
      this.#render(messages, tools, documents),
    );
    this.#reserved = [...controls, ...this.markers, ...this.toolCallFormat.markers].filter((text) => text.length > 1);
    this.#reservedPattern = new RegExp(this.#reserved.map((text) => RegExp.escape(text)).join('|'), 'g');
  }

  /** Whether the template renders documents. */
  get rendersDocuments(): boolean {
    return this.#traits.documents;
  }

  get source(): string {
    return this.#source;
  }

  /** Syntax of the tool calls of this template's model. */
  get toolCallFormat(): ToolCallFormat {
    return this.#traits.toolCallFormat;
  }

  /** Reasoning tags of this model; null when it is not known to reason. */
  get reasoningTags(): ReasoningTags | null {
    return THINK_TAGS.find(({ open }) => this.#source.includes(open)) ?? null;
  }

  /**
   * Renders a chat up to the start of the completion. `documents`: only if `rendersDocuments`. Throws 400 when the
   * template rejects the messages.
   */
  render(
    messages: readonly ChatMessage[],
    tools: readonly FunctionTool[],
    documents: readonly PromptDocument[] = [],
  ): RenderedPrompt {
    const arranged = arrangeMessages(messages, tools, this.#traits);
    const shown = this.#traits.supportsToolCalls ? tools : [];
    const mark = findUnusedMark(JSON.stringify([arranged, shown, documents]));
    const escapeText = (text: string): string => this.#escaped(text, mark);
    const safe = mapTexts(arranged, escapeText) as TemplateMessage[];
    const safeTools = mapTexts(shown, escapeText) as FunctionTool[];
    const safeDocuments = documents.map(({ title, text }) => ({ title: escapeText(title), text: escapeText(text) }));
    try {
      return { text: this.#renderWith(safe, safeTools, safeDocuments), mark };
    } catch (error) {
      const why = describeError(error);
      throw invalidValue('messages', `cannot be rendered by this model's chat template (${why.slice(0, 200)})`);
    }
  }

  /** Tools may lack a description or parameters, which some templates require. */
  #renderWith(
    messages: readonly object[],
    tools: readonly FunctionTool[],
    documents: readonly PromptDocument[],
  ): string {
    try {
      return this.#render(messages, tools, documents);
    } catch (error) {
      if (tools.length === 0) throw error;
      return this.#render(messages, tools.map(withOptionalFields), documents);
    }
  }

  /**
   * Inserts the mark into every reserved spelling of `text`, and at its ends where adjacent template text could
   * complete one. The template sees the text otherwise unchanged.
   */
  #escaped(text: string, mark: string): string {
    let safe = text;
    // Repeated, because breaking one spelling may leave another that overlapped it; each round breaks at least one.
    while (safe.search(this.#reservedPattern) >= 0) {
      safe = safe.replace(this.#reservedPattern, (spelling) => spelling.slice(0, 1) + mark + spelling.slice(1));
    }
    if (this.#reserved.some((spelling) => endsWithPrefixOf(safe, spelling))) safe += mark;
    if (this.#reserved.some((spelling) => startsWithSuffixOf(safe, spelling))) safe = mark + safe;
    return safe;
  }

  /** Some templates require a list of tools; others take an empty one for tools. */
  #render(messages: readonly object[], tools: readonly object[], documents: readonly PromptDocument[]): string {
    // Granite's templates number documents by `doc_id`; Command R's read `title` and `text`.
    const context =
      documents.length === 0 ? {} : { documents: documents.map((document, i) => ({ doc_id: i + 1, ...document })) };
    if (tools.length > 0) return this.#write(messages, { tools: [...tools], ...context });
    try {
      return this.#write(messages, context);
    } catch (error) {
      try {
        return this.#write(messages, { tools: [], ...context });
      } catch {
        throw error;
      }
    }
  }

  /** The renderer provides `raise_exception` and `strftime_now`. */
  #write(messages: readonly object[], variables: { tools?: object[]; documents?: object[] }): string {
    return this.#template.render({
      messages: [...messages],
      ...variables,
      add_generation_prompt: true,
      bos_token: this.#tokens.bos,
      eos_token: this.#tokens.eos,
    });
  }
}

/** Adds empty fields that a template may require. */
function withOptionalFields({ type, function: called }: FunctionTool): FunctionTool {
  const parameters = { type: 'object', ...called.parameters };
  const properties = Object.entries(Object(called.parameters?.['properties']));
  const describeTools = properties.map(([name, schema]) => [name, { description: '', ...Object(schema) }]);
  return {
    type,
    function: {
      description: '',
      ...called,
      parameters: { ...parameters, properties: Object.fromEntries(describeTools) },
    },
  };
}

/** Returns a mark that occurs in no text of the request. */
function findUnusedMark(texts: string): string {
  const free = NONCHARACTERS.find((char) => !texts.includes(char));
  if (free !== undefined) return free;
  let mark = '\ufdd0\ufdd1';
  while (texts.includes(mark)) mark += '\ufdd1';
  return mark;
}

function endsWithPrefixOf(text: string, control: string): boolean {
  for (let length = Math.min(control.length - 1, text.length); length > 0; length--) {
    if (text.endsWith(control.slice(0, length))) return true;
  }
  return false;
}

function startsWithSuffixOf(text: string, control: string): boolean {
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
