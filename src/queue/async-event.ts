/** Lets those that have nothing to do sleep until there may be something. */
export class AsyncEvent {
  #sleepers: (() => void)[] = [];
  /** A call that came while nobody slept: the next to lie down gets it. */
  #isPending = false;

  /** Wakes all who sleep; where nobody does, the next one does not fall asleep. */
  wake(): void {
    const sleepers = this.#sleepers;
    this.#sleepers = [];
    this.#isPending = sleepers.length === 0;
    for (const wakeUp of sleepers) wakeUp();
  }

  /** Sleeps until a call, but no longer than `milliseconds`. */
  async wait(milliseconds: number): Promise<void> {
    if (this.#isPending) {
      this.#isPending = false;
      return;
    }
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => {
        this.#sleepers = this.#sleepers.filter((sleeper) => sleeper !== wakeUp);
        resolve();
      }, milliseconds);
      const wakeUp = () => {
        clearTimeout(timer);
        resolve();
      };
      this.#sleepers.push(wakeUp);
    });
  }
}
