import { FairQueue } from './fair-queue.ts';

/** Messages in the channel, which is first come, first served: enough that the reader does not wait for the next. */
const MAX_WRITES = 4;

/** Messages that wait for a channel. Large messages of one organization do not delay the other organizations. */
export class FairOutbox<Message> {
  readonly #write: (message: Message, written: () => void) => void;
  readonly #queue = new FairQueue<Message>();
  #writes = 0;

  /** `write` calls `written` when the channel has taken the message. */
  constructor(write: (message: Message, written: () => void) => void) {
    this.#write = write;
  }

  /** Sends a message. The messages of one `scope`, the organization, arrive in order; organizations take turns. */
  send(message: Message, scope: string): void {
    this.#queue.add(scope, message);
    this.#flush();
  }

  #flush(): void {
    while (this.#writes < MAX_WRITES) {
      const message = this.#queue.take();
      if (message === undefined) return;
      this.#writes += 1;
      this.#write(message, () => {
        this.#writes -= 1;
        this.#flush();
      });
    }
  }
}
