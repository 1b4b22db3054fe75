import { useQuery } from '@tanstack/react-query';
import { api, body, pollEvery } from '../api/client.ts';
import type { paths } from '../api/schema.d.ts';

/** An engine of the service. */
export type EngineStatus =
  paths['/v1/admin/engines']['get']['responses'][200]['content']['application/json']['data'][number];

export const ENGINES_KEY = ['engines'];
const REFRESH_MS = 5_000;

/** The engines of the service, read again while the page is shown. For operators. */
export function useEngines() {
  return useQuery({
    queryKey: ENGINES_KEY,
    queryFn: () => body(api.GET('/v1/admin/engines')),
    refetchInterval: pollEvery(REFRESH_MS),
  });
}
