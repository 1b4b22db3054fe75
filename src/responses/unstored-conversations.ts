import type { ConversationItem } from './conversation.ts';

/** Characters of JSON in one process: 128 MiB of ASCII text, more with other alphabets. */
const MAX_CHARACTERS = 128 * 1024 * 1024;

interface Kept {
  id: string;
  /** The conversation, which takes several times as much memory when it is parsed. */
  json: string;
}

/**
 * The conversation of the last unstored response of each connection, in memory only. Bounded for the whole process:
 * above the bound, the conversations that have waited longest are dropped.
 */
export class UnstoredConversations {
  readonly #byConnection = new Map<object, Kept>();
  #characters = 0;

  /** Replaces the conversation of a connection. */
  keep(connection: object, id: string, conversation: readonly ConversationItem[]): void {
    this.drop(connection);
    const json = JSON.stringify(conversation);
    this.#byConnection.set(connection, { id, json });
    this.#characters += json.length;
    for (const oldest of this.#byConnection.keys()) {
      if (this.#characters <= MAX_CHARACTERS) return;
      this.drop(oldest);
    }
  }

  /** Removes and returns the conversation of a response; null if the connection has another one, or none. */
  take(connection: object, id: string): ConversationItem[] | null {
    const kept = this.#byConnection.get(connection);
    if (kept?.id !== id) return null;
    this.drop(connection);
    return JSON.parse(kept.json) as ConversationItem[];
  }

  drop(connection: object): void {
    this.#characters -= this.#byConnection.get(connection)?.json.length ?? 0;
    this.#byConnection.delete(connection);
  }
}
