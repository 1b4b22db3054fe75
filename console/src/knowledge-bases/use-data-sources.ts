import { useQuery } from '@tanstack/react-query';
import { api, body } from '../api/client.ts';

/** Reads the first 100 data sources of a knowledge base. */
export function useDataSources(kbId: string) {
  return useQuery({
    queryKey: ['data-sources', kbId, 'first-page'],
    queryFn: () => {
      const params = { path: { kb_id: kbId }, query: { limit: 100 } };
      return body(api.GET('/v1/knowledge-bases/{kb_id}/data-sources', { params }));
    },
  });
}
