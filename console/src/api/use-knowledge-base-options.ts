import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQueries, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, body } from './client.ts';

/** Pause after the last key before a search is sent. */
const SEARCH_PAUSE_MS = 250;

/**
 * Options of a field that selects knowledge bases, by name: the newest ones that match the search on the server, and
 * the selected ones.
 */
export function useKnowledgeBaseOptions(selected: readonly string[]) {
  const [search, setSearch] = useState('');
  const [text] = useDebouncedValue(search.trim(), SEARCH_PAUSE_MS);
  const query = useQuery({
    queryKey: ['kb-options', text],
    queryFn: () => {
      const query = { limit: 100, order: 'desc' as const, ...(text !== '' && { search: text }) };
      return body(api.GET('/v1/knowledge-bases', { params: { query } }));
    },
    placeholderData: keepPreviousData,
  });
  const named = useQueries({
    queries: selected.map((id) => ({
      queryKey: ['knowledge-base', id],
      queryFn: () => body(api.GET('/v1/knowledge-bases/{kb_id}', { params: { path: { kb_id: id } } })),
    })),
  });
  const names = new Map(selected.map((id, index) => [id, named[index]?.data?.name ?? id]));
  for (const { id, name } of query.data?.data ?? []) names.set(id, name);
  return { query, search, setSearch, options: [...names].map(([value, label]) => ({ value, label })) };
}
