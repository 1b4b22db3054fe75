import type { Database, Sql } from '../db/db.ts';
import { notify } from '../db/notifications.ts';
import { GroupCommit } from '../lib/group-commit.ts';
import type { ConversationItem } from './conversation.ts';
import type { ResponseProgress } from './emitter.ts';
import type { ResponseEvent } from './event-schema.ts';
import { extendConversation } from './extend-conversation.ts';
import type { ResponseResource } from './schema.ts';
import { insertEvents, lockRunning, type ResponseRow, updateEnded } from './store.ts';

/** Events of this time are written together: readers notice no delay, and a fast model does not write each token. */
const GROUP_MS = 100;
/** How often a response without events is checked for a cancellation whose notification was lost. */
const CHECK_MS = 2_000;

/** A part of a write; an empty one only checks that the response is still running. */
interface Entry {
  event?: ResponseEvent;
  /** The ended response; absent while it runs. */
  ended?: ResponseResource;
}

/**
 * Writes the events of a running background response in groups. `lost` aborts when the response was cancelled, deleted
 * or cannot be written: nothing is written any more.
 */
export class EventWriter {
  readonly lost: AbortSignal;
  readonly #db: Database;
  readonly #id: string;
  readonly #progress: () => ResponseProgress;
  readonly #entries: GroupCommit<Entry>;
  readonly #checks: NodeJS.Timeout;
  readonly #unlisten: () => void;

  /** `progress`: the progress at the time of a write. */
  constructor(db: Database, id: string, progress: () => ResponseProgress) {
    this.#db = db;
    this.#id = id;
    this.#progress = progress;
    const lost = new AbortController();
    this.lost = lost.signal;
    this.#entries = new GroupCommit({
      write: (entries) => this.#write(entries),
      // The last events and the end of a response belong to one transaction.
      maxWeight: Number.POSITIVE_INFINITY,
      delayMs: GROUP_MS,
      stopsOnFailure: true,
      onFailure: (_, error) => lost.abort(error),
    });
    this.#checks = setInterval(() => this.#check(), CHECK_MS);
    this.#unlisten = db.listen('quire_responses', {
      onNotification: (payload) => void (payload === cancellation(id) && this.#check()),
      onGap: () => {},
    });
  }

  add(event: ResponseEvent): void {
    void this.#entries.add({ event });
  }

  /** Writes the pending events and the ended response in one transaction, unless the response is lost. */
  async end(ended: ResponseResource): Promise<void> {
    void this.#entries.add({ ended });
    await this.#entries.flush();
  }

  /** Stops without writing the pending events. Resolves when no write is in flight. May be called twice. */
  async close(): Promise<void> {
    clearInterval(this.#checks);
    this.#unlisten();
    await this.#entries.close(new Error('the run of the response has ended'));
  }

  #check(): void {
    void this.#entries.add({});
    this.#entries.flush().catch(() => {});
  }

  /** Stores the end of the response, and adds it to its conversation. */
  async #end(
    sql: Sql,
    { organizationId, conversation, job, owner }: ResponseRow,
    ended: ResponseResource,
  ): Promise<void> {
    await updateEnded(sql, ended, owner);
    if (ended.conversation == null) return;
    const { earlierItems = 0 } = JSON.parse(job ?? '{}') as { earlierItems?: number };
    const input = (JSON.parse(conversation) as ConversationItem[]).slice(earlierItems);
    await extendConversation(sql, organizationId, ended, input);
  }

  async #write(entries: readonly Entry[]): Promise<void> {
    const events = entries.flatMap(({ event }) => event ?? []);
    const ended = entries.findLast((entry) => entry.ended !== undefined)?.ended;
    const progress = this.#progress();
    const isRunning = await this.#db.sql.transaction(async (sql) => {
      const row = await lockRunning(sql, this.#id);
      if (row === null) return false;
      if (events.length > 0) await insertEvents(sql, this.#id, events, progress);
      if (ended !== undefined) await this.#end(sql, row, ended);
      if (events.length > 0 || ended !== undefined) await notify(sql, 'quire_responses', this.#id);
      return true;
    });
    if (!isRunning) throw new ResponseGone();
  }
}

/** Payload that tells the runner of a response that it was cancelled or deleted. */
export function cancellation(id: string): string {
  return `${id} cancelled`;
}

/** Abort reason of a response that was cancelled or deleted while it ran. */
export class ResponseGone extends Error {
  override readonly name = 'ResponseGone';
  constructor() {
    super('the response was cancelled or deleted');
  }
}
