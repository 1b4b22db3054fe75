import { useQuery } from '@tanstack/react-query';
import { api, body } from '../api/client.ts';
import { useSession } from '../api/session.ts';
import { startOfMonth } from './key-properties.ts';

/** More keys than people read; the most expensive come first. */
const MAX_KEYS = 1_000;

/** What keys of the organization have spent in this UTC month, in micros by key id; undefined while it is read. */
export function useMonthSpend(): ReadonlyMap<string, number> | undefined {
  const { organization } = useSession();
  const query = useQuery({
    queryKey: ['keys', organization.id, 'month-spend'],
    queryFn: () => {
      const filter = {
        group_by: 'key',
        bucket: 'total' as const,
        start_time: startOfMonth(Date.now()),
        limit: MAX_KEYS,
      };
      return body(api.GET('/v1/usage', { params: { query: filter } }));
    },
  });
  return query.data && new Map(query.data.data.map(({ key_id: id, cost_micros: micros }) => [id ?? '', micros]));
}
