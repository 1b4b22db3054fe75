import { useQueryClient } from '@tanstack/react-query';

/** Returns a function that reads the queries again whose keys begin with one of the names. */
export function useRefresh(...names: readonly string[]): () => Promise<unknown> {
  const queryClient = useQueryClient();
  return () => Promise.all(names.map((name) => queryClient.invalidateQueries({ queryKey: [name] })));
}
