/**
 * Merges async generators: runs at most `limit` concurrently, started in order, and yields values as they arrive. When
 * one throws or the consumer stops, running generators are returned and the others never start.
 */
export async function* merge<T>(
  sources: readonly (() => AsyncGenerator<T, void, undefined>)[],
  limit: number,
): AsyncGenerator<T, void, undefined> {
  const running = new Map<AsyncGenerator<T>, Promise<{ source: AsyncGenerator<T>; result: IteratorResult<T> }>>();
  let started = 0;
  const pull = (source: AsyncGenerator<T>) => {
    const step = source.next().then((result) => ({ source, result }));
    // Errors surface in the race below; this handler only prevents an unhandledRejection.
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
      // Moves the source to the end of the map, so that a source that is always ready cannot starve the others.
      running.delete(source);
      pull(source);
    }
  } finally {
    await Promise.allSettled([...running.keys()].map((source) => source.return(undefined)));
  }
}
