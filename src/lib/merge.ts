/**
 * Runs the sources side by side, at most `limit` at a time and in their order, and yields what each yields as it comes.
 * When one throws, or the reader stops, the running ones are returned and the others never start.
 */
export async function* merge<T>(
  sources: readonly (() => AsyncGenerator<T, void, undefined>)[],
  limit: number,
): AsyncGenerator<T, void, undefined> {
  const running = new Map<AsyncGenerator<T>, Promise<{ source: AsyncGenerator<T>; result: IteratorResult<T> }>>();
  let started = 0;
  const pull = (source: AsyncGenerator<T>) => {
    const step = source.next().then((result) => ({ source, result }));
    // Its failure is seen by the race below; if another fails first, this one must not go unhandled.
    step.catch(() => {});
    running.set(source, step);
  };
  try {
    while (started < sources.length || running.size > 0) {
      for (; started < sources.length && running.size < limit; started += 1) {
        const start = sources[started];
        if (start !== undefined) pull(start());
      }
      const { source, result } = await Promise.race(running.values());
      if (result.done) {
        running.delete(source);
        continue;
      }
      yield result.value;
      // Behind the others now: a source that is always ready cannot starve them.
      running.delete(source);
      pull(source);
    }
  } finally {
    await Promise.allSettled([...running.keys()].map((source) => source.return(undefined)));
  }
}
