import { useQuery } from '@tanstack/react-query';
import { api, body, pollEvery } from '../api/client.ts';
import type { Schema } from '../api/types.ts';

/** A server of models. */
export type Upstream = Schema<'UpstreamResource'>;
/** A server of models that was added over the API. */
export type StoredUpstream = Upstream & { id: string };

const REFRESH_MS = 5_000;

/** The servers of models, read again while the page is shown. For operators. */
export function useUpstreams() {
  return useQuery({
    queryKey: ['upstreams'],
    queryFn: () => body(api.GET('/v1/admin/upstreams')),
    refetchInterval: pollEvery(REFRESH_MS),
  });
}

/** Whether a server can be changed in the console. */
export const isStored = (upstream: Upstream): upstream is StoredUpstream => upstream.id !== null;
