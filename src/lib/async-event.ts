/** An auto-reset event: waiting tasks sleep until `wake` or a timeout. */
export class AsyncEvent {
  #waiters: (() => void)[] = [];
  /** A `wake` without waiters; the next `wait` returns without sleeping. */
  #isPending = false;

  /** Wakes all waiting tasks; without any, the next `wait` returns at once. */
  wake(): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    this.#isPending = waiters.length === 0;
    for (const resume of waiters) resume();
  }

  /** Forgets a `wake` without waiters. */
  reset(): void {
    this.#isPending = false;
  }

  /** Sleeps until `wake`, at most `milliseconds`. */
  async wait(milliseconds: number): Promise<void> {
    if (this.#isPending) {
      this.#isPending = false;
      return;
    }
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => {
        this.#waiters = this.#waiters.filter((waiter) => waiter !== resume);
        resolve();
      }, milliseconds);
      const resume = () => {
        clearTimeout(timer);
        resolve();
      };
      this.#waiters.push(resume);
    });
  }
}
