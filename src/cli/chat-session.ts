import { OperatorError } from '../lib/operator-error.ts';
import { suggestSimilar } from '../lib/suggest.ts';
import type { Model } from '../models/schema.ts';
import type { ApiClient } from './api-client.ts';
import { HttpStatusError } from './client-errors.ts';
import { type KnowledgeBaseRef, requireKnowledgeBase } from './knowledge-base.ts';
import { type StreamedAnswer, streamAnswer } from './stream-answer.ts';

interface Message {
  role: 'user' | 'assistant';
  content: string;
}

/** What a conversation starts with. */
export interface ChatSettings {
  model: string;
  knowledgeBase: KnowledgeBaseRef | null;
  system: string | null;
}

const HELP = `/model [ID]     Show the models, or continue with another one.
/kb [NAME|off]  Show the knowledge bases, answer from one, or from none.
/system [TEXT]  Set the system message, or remove it.
/clear          Forget the conversation.
/help           Show this help.
/bye            Leave (also Ctrl-D).
"""             Begin and end a message of several lines.
Ctrl-C stops an answer. The up arrow repeats earlier lines.`;

/** A conversation with a model: its messages and settings. Prints nothing. */
export class ChatSession {
  readonly #api: ApiClient;
  readonly #settings: ChatSettings;
  #messages: Message[] = [];

  constructor(api: ApiClient, settings: ChatSettings) {
    this.#api = api;
    this.#settings = settings;
  }

  /** The model and the knowledge base, in one line. */
  describe(): string {
    const { model, knowledgeBase } = this.#settings;
    return knowledgeBase === null ? `Model ${model}.` : `Model ${model}, knowledge base '${knowledgeBase.name}'.`;
  }

  /**
   * Sends the conversation with a new message. Forgets the oldest messages when the model's context is too short, and a
   * message that got no answer.
   */
  async answer(text: string, write: (text: string) => unknown, signal: AbortSignal): Promise<StreamedAnswer> {
    const message: Message = { role: 'user', content: text };
    for (;;) {
      try {
        const answer = await streamAnswer(this.#api, this.#request(message), write, signal);
        if (answer.text !== '') this.#messages.push(message, { role: 'assistant', content: answer.text });
        return answer;
      } catch (error) {
        const isTooLong = error instanceof HttpStatusError && error.code === 'context_length_exceeded';
        if (!isTooLong || this.#messages.length === 0) throw error;
        this.#messages = this.#messages.slice(2);
      }
    }
  }

  #request(message: Message): object {
    const { model, knowledgeBase, system } = this.#settings;
    const start = system === null ? [] : [{ role: 'system', content: system }];
    return {
      model,
      messages: [...start, ...this.#messages, message],
      ...(knowledgeBase !== null && { knowledge_bases: [knowledgeBase.id] }),
    };
  }

  /** Runs a line that starts with `/`. Returns the text to show; null: leave. */
  async command(line: string): Promise<string | null> {
    const [, name = '', argument = ''] = /^\/(\S*)\s*(.*)$/s.exec(line.trim()) ?? [];
    switch (name) {
      case 'help':
      case '?':
        return HELP;
      case 'model':
        return this.#setModel(argument);
      case 'kb':
        return this.#setKnowledgeBase(argument);
      case 'system':
        this.#settings.system = argument === '' ? null : argument;
        return argument === '' ? 'No system message.' : 'The system message is set.';
      case 'clear':
        this.#messages = [];
        return 'The conversation is forgotten.';
      case 'bye':
      case 'exit':
      case 'quit':
        return null;
      default: {
        const similar = suggestSimilar(name, ['model', 'kb', 'system', 'clear', 'help', 'bye']);
        throw new OperatorError(
          `There is no command '/${name}'.${similar === null ? '' : ` Did you mean '/${similar}'?`} /help lists them.`,
        );
      }
    }
  }

  async #setModel(id: string): Promise<string> {
    const { data } = await this.#api.json<{ data: Model[] }>('GET', '/v1/models');
    const ids = data.filter(({ capabilities }) => capabilities.chat_completion).map((model) => model.id);
    if (id === '') return ids.map((one) => `${one === this.#settings.model ? '*' : ' '} ${one}`).join('\n');
    if (!ids.includes(id)) {
      const similar = suggestSimilar(id, ids);
      throw new OperatorError(
        `There is no chat model '${id}'. ${similar === null ? '/model lists them.' : `Did you mean '${similar}'?`}`,
      );
    }
    this.#settings.model = id;
    return this.describe();
  }

  async #setKnowledgeBase(name: string): Promise<string> {
    if (name === '') {
      const bases = await Array.fromAsync(this.#api.list<KnowledgeBaseRef>('/v1/knowledge-bases'));
      const current = this.#settings.knowledgeBase?.id;
      return bases.map((base) => `${base.id === current ? '*' : ' '} ${base.name}`).join('\n') || 'No knowledge bases.';
    }
    this.#settings.knowledgeBase = name === 'off' ? null : await requireKnowledgeBase(this.#api, name);
    return this.describe();
  }
}
