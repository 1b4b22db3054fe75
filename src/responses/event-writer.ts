import type { Database } from '../db/db.ts';
import { notify } from '../db/notifications.ts';
import type { ResponseProgress } from './emitter.ts';
import type { ResponseEvent } from './event-schema.ts';
import type { ResponseResource } from './schema.ts';
import { insertEvents, lockRunning, updateEnded } from './store.ts';

/** Events of this time are written together: readers notice no delay, and a fast model does not write each token. */
const GROUP_MS = 100;
/** How often a response without events is checked for a cancellation whose notification was lost. */
const CHECK_MS = 2_000;

/**
 * Writes the events of a running background response in groups. `lost` aborts when the response was cancelled, deleted or cannot be
 * written: nothing is written any more.
 */
export class EventWriter {
  readonly lost: AbortSignal;
  readonly #lost = new AbortController();
  readonly #db: Database;
  readonly #id: string;
  readonly #progress: () => ResponseProgress;
  readonly #timers: NodeJS.Timeout[];
  readonly #unlisten: () => void;
  #pending: ResponseEvent[] = [];
  #writing: Promise<void> = Promise.resolve();

  /** `progress`: the progress at the time of a write. */
  constructor(db: Database, id: string, progress: () => ResponseProgress) {
    this.#db = db;
    this.#id = id;
    this.#progress = progress;
    this.lost = this.#lost.signal;
    this.#timers = [
      setInterval(() => void (this.#pending.length > 0 && this.#flush()), GROUP_MS),
      setInterval(() => void this.#flush(), CHECK_MS),
    ];
    this.#unlisten = db.listen('quire_responses', {
      onNotification: (payload) => void (payload === cancellation(id) && this.#flush()),
      onGap: () => {},
    });
  }

  add(event: ResponseEvent): void {
    this.#pending.push(event);
  }

  /** Writes the pending events and the ended response in one transaction, unless the response is lost. */
  async end(response: ResponseResource): Promise<void> {
    await this.#writing;
    await this.#write(response);
  }

  /** Stops the timers. May be called twice. */
  close(): void {
    for (const timer of this.#timers) clearInterval(timer);
    this.#unlisten();
  }

  /** Writes are sequential. */
  #flush(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#write(null)).catch((error: unknown) => this.#lost.abort(error));
    return this.#writing;
  }

  async #write(ended: ResponseResource | null): Promise<void> {
    this.lost.throwIfAborted();
    const events = this.#pending;
    const progress = this.#progress();
    this.#pending = [];
    const isRunning = await this.#db.sql.transaction(async (sql) => {
      if ((await lockRunning(sql, this.#id)) === null) return false;
      if (events.length > 0) await insertEvents(sql, this.#id, events, progress);
      if (ended !== null) await updateEnded(sql, ended);
      if (events.length > 0) await notify(sql, 'quire_responses', this.#id);
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
