import { useQuery } from '@tanstack/react-query';
import { api, body, pollEvery } from '../api/client.ts';
import type { Schema } from '../api/types.ts';

/** An engine of the service. */
export type EngineStatus = Schema<'EngineStatus'>;

const REFRESH_MS = 5_000;

/** The engines of the service, read again while the page is shown. For operators. */
export function useEngines() {
  return useQuery({
    queryKey: ['engines'],
    queryFn: () => body(api.GET('/v1/admin/engines')),
    refetchInterval: pollEvery(REFRESH_MS),
  });
}
