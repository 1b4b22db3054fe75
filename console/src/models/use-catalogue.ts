import { useQuery } from '@tanstack/react-query';
import { useRef } from 'react';
import { api, body, pollEvery } from '../api/client.ts';
import { useRefresh } from '../api/refresh.ts';
import { estimateRemaining, type Pull, type PullSample } from './catalogue.ts';
import { useEngines } from './engines.ts';

const PROGRESS_MS = 1_000;
const REFRESH_MS = 5_000;

/** Loads model ids with their bindings, and polls while the page is shown. */
export function useBoundModels() {
  return useQuery({
    queryKey: ['admin-models'],
    queryFn: () => body(api.GET('/v1/admin/models')),
    refetchInterval: pollEvery(REFRESH_MS),
  });
}

/** Loads stored and available models, pulls, bindings and engines. */
export function useCatalogue() {
  const refreshFiles = useRefresh('model-files');
  const firstSamples = useRef(new Map<string, PullSample>());
  const files = useQuery({ queryKey: ['model-files'], queryFn: () => body(api.GET('/v1/admin/model-files')) });
  const pulls = useQuery({
    queryKey: ['model-pulls'],
    queryFn: async () => {
      const { data } = await body(api.GET('/v1/admin/model-pulls'));
      if (data.some(({ state }) => state !== 'pulling')) await refreshFiles();
      return { data, remaining: data.map((pull) => sampleRemaining(firstSamples.current, pull)) };
    },
    refetchInterval: pollEvery(PROGRESS_MS),
  });
  return { files, pulls, models: useBoundModels(), engines: useEngines() };
}

/** Estimates the remaining milliseconds of a pull from the samples of this page. Null if unknown. */
function sampleRemaining(first: Map<string, PullSample>, pull: Pull): number | null {
  const { name, location, created_at, received_bytes: bytes, total_bytes: total } = pull;
  const key = `${location} ${name} ${created_at}`;
  const sample = { bytes, at: performance.now() };
  const start = first.get(key) ?? sample;
  first.set(key, start);
  return estimateRemaining(total, start, sample);
}
