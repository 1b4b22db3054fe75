import type { TokenLogprob } from '../engines/engine.ts';
import { newId } from '../lib/ids.ts';
import type { ResponseEvent } from './event-schema.ts';
import type {
  FileSearchItem,
  FunctionCallItem,
  McpApprovalRequestItem,
  McpCallItem,
  McpListToolsItem,
  MessageItem,
  MessagePhase,
  OutputItem,
  ReasoningItem,
  ResponseAnnotation,
  TokenLogprobs,
} from './item-schema.ts';
import type { ResponseError, ResponseResource, ResponseUsage } from './schema.ts';

/** The fields of a response that its generation does not change. */
export type ResponseShell = Omit<
  ResponseResource,
  'status' | 'output' | 'completed_at' | 'incomplete_details' | 'error' | keyof ResponseProgress
>;

/** How a response ended. */
export type Outcome =
  | { status: 'completed' }
  | { status: 'incomplete' | 'cancelled'; reason: string }
  | { status: 'failed'; error: ResponseError };

/** Finds the citations in a text of the answer. `output`: the items so far. */
export type Annotate = (text: string, output: readonly OutputItem[]) => ResponseAnnotation[];

/** Work done so far. */
export type ResponseProgress = Pick<ResponseResource, 'tool_call_count' | 'turn_count' | 'moderation'> & {
  usage: ResponseUsage;
};

/** ResponseProgress of a response that has not called a model. */
export const NO_PROGRESS: ResponseProgress = {
  tool_call_count: 0,
  turn_count: 0,
  usage: {
    input_tokens: 0,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: 0,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 0,
  },
};

/** An item that has been announced and is not finished. */
interface OpenItem {
  item: OutputItem;
  /** Text of a message or of reasoning so far. */
  text: string;
  /** Of the tokens of a message so far; null unless requested. */
  logprobs: TokenLogprobs[] | null;
}

/**
 * The only source of the events of one response, and of the response itself, so that the stream and the stored response
 * cannot differ. Every item is announced once, before its deltas, and finished once, after them; `end` finishes the
 * open items and closes the response. Items and events are never changed after they have been returned.
 */
export class ResponseEmitter {
  readonly #shell: ResponseShell;
  readonly #annotate: Annotate;
  readonly #output: OutputItem[] = [];
  readonly #open = new Map<number, OpenItem>();
  #sequence = 0;
  #outcome: Outcome | null = null;
  #completedAt: number | null = null;
  /** Position of the open message or reasoning, which the next delta extends. */
  #current: number | null = null;
  /** Set by the loop. */
  progress: ResponseProgress = NO_PROGRESS;
  /** Share of the results of each search that the current model call reads. Set by the loop. */
  resultShare = 1;

  constructor(shell: ResponseShell, annotate: Annotate = () => []) {
    this.#shell = shell;
    this.#annotate = annotate;
  }

  /**
   * Restores the state after events of an emitter in another process, which began the response. Items without an end
   * are open.
   */
  replay(events: Iterable<ResponseEvent>, progress: ResponseProgress): void {
    this.progress = progress;
    for (const event of events) this.#apply(event);
  }

  /** Items that have been announced; open ones as far as they are known, with the status `incomplete`. */
  get output(): OutputItem[] {
    return this.#output.map((item, index) => {
      const open = this.#open.get(index);
      return open === undefined ? item : withText(open);
    });
  }

  get isEnded(): boolean {
    return this.#outcome !== null;
  }

  /** Whether no event has been returned. */
  get isNew(): boolean {
    return this.#sequence === 0;
  }

  /** The first event. */
  created(): ResponseEvent {
    if (!this.isNew) throw new Error('a response was created twice');
    return this.#number({ type: 'response.created', response: { ...this.resource(), status: 'incomplete' } });
  }

  /** Text of the answer. Announces a message unless one is open. */
  text(delta: string, logprobs?: readonly TokenLogprob[]): ResponseEvent[] {
    return this.#delta('message', delta, logprobs?.map(viewLogprob));
  }

  /** Reasoning. Its deltas have no events of their own. */
  reasoning(delta: string): ResponseEvent[] {
    return this.#delta('reasoning', delta);
  }

  /**
   * Finishes the open message, with its citations, or the open reasoning. `incomplete`: cut by a limit or filter.
   * `phase`: absent while it is not known whether calls follow.
   */
  endText(status: 'completed' | 'incomplete' = 'completed', phase?: MessagePhase): ResponseEvent[] {
    const index = this.#current;
    const open = index === null ? undefined : this.#open.get(index);
    this.#current = null;
    if (index === null || open === undefined) return [];
    const { item, text, logprobs } = open;
    const filled = { ...withText(open), status } as OutputItem;
    if (filled.type !== 'message') return this.#close(index, filled);
    const content = filled.content.map((part) => ({ ...part, annotations: this.#annotate(text, this.#output) }));
    const at = { item_id: item.id, output_index: index, content_index: 0 };
    const done = this.#number({ type: 'response.output_text.done', ...at, text, ...(logprobs && { logprobs }) });
    return [done, ...this.#close(index, { ...filled, ...(phase && { phase }), content })];
  }

  /**
   * A function call, whose arguments are complete. Both of its events have them: some clients read those of the first
   * only, because arguments have no deltas.
   */
  functionCall(call: Pick<FunctionCallItem, 'call_id' | 'name' | 'arguments' | 'status'>): ResponseEvent[] {
    const item: FunctionCallItem = { type: 'function_call', id: newId('functionCall'), ...call };
    const { index, events } = this.#openCall({ ...item, status: 'incomplete' });
    return [...events, ...this.#close(index, item)];
  }

  /** Announces a search, or a query over a table; returns its position in `output`. */
  openSearch(tool?: FileSearchItem['tool']): { index: number; events: ResponseEvent[] } {
    return this.#openCall({
      type: 'file_search_call',
      id: newId('fileSearchCall'),
      status: 'incomplete',
      ...(tool && { tool }),
      queries: [],
      results: [],
    });
  }

  /** Finishes a search. */
  closeSearch(index: number, fields: Omit<FileSearchItem, 'type' | 'id'>): ResponseEvent[] {
    return this.#close(index, fields);
  }

  /** Announces an item that the service computes; returns its position in `output`. */
  openItem(item: McpListToolsItem | McpCallItem): { index: number; events: ResponseEvent[] } {
    return this.#openCall(item);
  }

  /** An event about an open item. */
  itemEvent(
    index: number,
    event: DistributiveOmit<ItemEvent, 'sequence_number' | 'output_index' | 'item_id'>,
  ): ResponseEvent {
    const { id = '' } = this.#open.get(index)?.item ?? {};
    const numbered = this.#number({ ...event, output_index: index, item_id: id } as ItemEvent);
    this.#apply(numbered);
    return numbered;
  }

  /** Finishes an item of `openItem`. */
  closeItem(index: number, fields: Partial<McpListToolsItem> | Partial<McpCallItem>): ResponseEvent[] {
    return this.#close(index, fields);
  }

  /** A call that waits for an approval. */
  approvalRequest(fields: Omit<McpApprovalRequestItem, 'type' | 'id'>): ResponseEvent[] {
    const { index, events } = this.#openCall({
      type: 'mcp_approval_request',
      id: newId('mcpApprovalRequest'),
      ...fields,
    });
    return [...events, ...this.#close(index, {})];
  }

  /** Finishes the open items as `incomplete`. */
  interrupt(): ResponseEvent[] {
    const events = this.endText('incomplete');
    for (const [index, { item }] of [...this.#open]) events.push(...this.#close(index, interruptedFields(item)));
    return events;
  }

  /** Ends the response. `now`: Unix seconds. The last event has the whole response. */
  end(outcome: Outcome, now: number): ResponseEvent[] {
    const events = outcome.status === 'completed' ? this.endText() : this.interrupt();
    if (this.#open.size > 0) throw new Error('a response was completed with an open item');
    this.#requireRunning();
    this.#outcome = outcome;
    this.#completedAt = outcome.status === 'completed' ? now : null;
    const type = outcome.status === 'cancelled' ? 'response.incomplete' : (`response.${outcome.status}` as const);
    return [...events, this.#number({ type, response: this.resource() })];
  }

  /** The response at this time. */
  resource(): ResponseResource {
    const outcome = this.#outcome;
    const isInterrupted = outcome?.status === 'incomplete' || outcome?.status === 'cancelled';
    const { usage, ...counts } = this.progress;
    return {
      ...this.#shell,
      completed_at: this.#completedAt,
      status: outcome?.status ?? 'in_progress',
      incomplete_details: isInterrupted ? { reason: outcome.reason } : null,
      error: outcome?.status === 'failed' ? outcome.error : null,
      output: this.output,
      ...counts,
      usage: outcome === null ? null : usage,
    };
  }

  #delta(type: 'message' | 'reasoning', delta: string, logprobs?: readonly TokenLogprobs[]): ResponseEvent[] {
    const events: ResponseEvent[] = [];
    let open = this.#current === null ? undefined : this.#open.get(this.#current);
    if (open?.item.type !== type) {
      events.push(...this.endText());
      const { index, events: added } = this.#add(type === 'message' ? newMessage() : newReasoning());
      events.push(...added);
      this.#current = index;
      open = this.#open.get(index);
    }
    if (open === undefined || this.#current === null) throw new Error('no text is open');
    open.text += delta;
    if (logprobs !== undefined) addLogprobs(open, logprobs);
    if (type === 'reasoning' || delta === '') return events;
    const at = { item_id: open.item.id, output_index: this.#current, content_index: 0 };
    const more = logprobs === undefined ? {} : { logprobs: [...logprobs] };
    return [...events, this.#number({ type: 'response.output_text.delta', ...at, delta, ...more })];
  }

  #openCall(item: OutputItem): { index: number; events: ResponseEvent[] } {
    const events = this.endText('completed', 'commentary');
    const added = this.#add(item);
    return { index: added.index, events: [...events, ...added.events] };
  }

  #add(item: OutputItem): { index: number; events: ResponseEvent[] } {
    this.#requireRunning();
    const index = this.#output.push(item) - 1;
    this.#open.set(index, { item, text: '', logprobs: null });
    return { index, events: [this.#number({ type: 'response.output_item.added', output_index: index, item })] };
  }

  #close(index: number, fields: Partial<OutputItem>): ResponseEvent[] {
    const open = this.#open.get(index);
    if (open === undefined) throw new Error('an item was finished that is not open');
    this.#open.delete(index);
    const item = { ...open.item, ...fields } as OutputItem;
    this.#output[index] = item;
    return [this.#number({ type: 'response.output_item.done', output_index: index, item })];
  }

  #requireRunning(): void {
    if (this.isNew || this.isEnded) throw new Error('an item was announced outside of a running response');
  }

  #number(event: DistributiveOmit<ResponseEvent, 'sequence_number'>): ResponseEvent {
    const { type, ...fields } = event;
    const numbered = { type, sequence_number: this.#sequence, ...fields } as ResponseEvent;
    this.#sequence += 1;
    return numbered;
  }

  #apply(event: ResponseEvent): void {
    this.#sequence = event.sequence_number + 1;
    switch (event.type) {
      case 'response.output_item.added':
        this.#output[event.output_index] = event.item;
        this.#open.set(event.output_index, { item: event.item, text: '', logprobs: null });
        this.#current = isText(event.item) ? event.output_index : null;
        return;
      case 'response.output_text.delta': {
        const open = this.#open.get(event.output_index);
        if (open === undefined) return;
        open.text += event.delta;
        if (event.logprobs !== undefined) addLogprobs(open, event.logprobs);
        return;
      }
      case 'response.mcp_call_arguments.done': {
        const open = this.#open.get(event.output_index);
        if (open?.item.type === 'mcp_call') open.item = { ...open.item, arguments: event.arguments };
        return;
      }
      case 'response.output_item.done':
        this.#output[event.output_index] = event.item;
        this.#open.delete(event.output_index);
        if (this.#current === event.output_index) this.#current = null;
    }
  }
}

/** An event about an item that neither announces nor finishes it. */
type ItemEvent = Extract<ResponseEvent, { type: `response.mcp_${string}` }>;

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

function interruptedFields({ type }: OutputItem): Partial<OutputItem> {
  if (type === 'mcp_list_tools') return { error: 'The list was interrupted.' };
  return type === 'mcp_call' ? { status: 'incomplete' } : {};
}

function isText(item: OutputItem): item is MessageItem | ReasoningItem {
  return item.type === 'message' || item.type === 'reasoning';
}

function newMessage(): MessageItem {
  return {
    type: 'message',
    id: newId('message'),
    role: 'assistant',
    status: 'incomplete',
    content: [{ type: 'output_text', text: '', annotations: [] }],
  };
}

function newReasoning(): ReasoningItem {
  return {
    type: 'reasoning',
    id: newId('reasoning'),
    status: 'incomplete',
    summary: [],
    content: [],
    encrypted_content: null,
  };
}

function addLogprobs(open: OpenItem, logprobs: readonly TokenLogprobs[]): void {
  open.logprobs ??= [];
  open.logprobs.push(...logprobs);
}

function viewLogprob({ token, logprob, bytes, top }: TokenLogprob): TokenLogprobs {
  const alternatives = top.map((one) => ({ ...one, bytes: one.bytes ?? [] }));
  return { token, logprob, bytes: bytes ?? [], top_logprobs: alternatives };
}

/** Returns a message or reasoning with its text so far, and any other item unchanged. */
function withText({ item, text, logprobs }: OpenItem): OutputItem {
  if (item.type === 'message') {
    return {
      ...item,
      content: [{ type: 'output_text', text, annotations: [], ...(logprobs && { logprobs: [...logprobs] }) }],
    };
  }
  if (item.type === 'reasoning') return { ...item, content: [{ type: 'reasoning_text', text }] };
  return item;
}
