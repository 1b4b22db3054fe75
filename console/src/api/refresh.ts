import { type QueryClient, type QueryKey, useQueryClient } from '@tanstack/react-query';

/**
 * Reads the queries again whose keys begin with `queryKey`, after the first loads that are running: their responses may
 * be older than the change, and `invalidateQueries` does not send a second request while a first load runs.
 */
export async function readAgain(client: QueryClient, queryKey: QueryKey): Promise<void> {
  const loads = client
    .getQueryCache()
    .findAll({ queryKey, fetchStatus: 'fetching' })
    .filter(({ state }) => state.data === undefined);
  await Promise.allSettled(loads.map(({ promise }) => promise));
  await client.invalidateQueries({ queryKey });
}

/** Returns a function that reads the queries again whose keys begin with one of the names. */
export function useRefresh(...names: readonly string[]): () => Promise<unknown> {
  const client = useQueryClient();
  return () => Promise.all(names.map((name) => readAgain(client, [name])));
}
