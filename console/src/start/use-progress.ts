import { useQuery } from '@tanstack/react-query';
import { api, body, pollEvery } from '../api/client.ts';
import { useSession } from '../api/session.ts';
import { useModels } from '../api/use-models.ts';
import type { ApiKey, CreatedKey } from '../keys/api-key.tsx';
import { chooseBase, chooseModel } from './choose-sample.ts';

/** Poll interval, so that progress in a terminal is shown. */
const REFRESH_MS = 5_000;
/** Number of latest requests that are searched for an answer. */
const MAX_REQUESTS = 50;

/** Progress of the user, and the ids for code examples. */
export function useStartProgress(created: CreatedKey | null) {
  const { user, organization } = useSession();
  const refetchInterval = pollEvery(REFRESH_MS);
  const bases = useQuery({
    queryKey: ['knowledge-bases', 'start', organization.id],
    queryFn: () => body(api.GET('/v1/knowledge-bases', { params: { query: { limit: 100, order: 'desc' } } })),
    refetchInterval,
  });
  const hasAnswer = useHasAnswer(user.id);
  // `last_used_at` is updated with a delay, the request log immediately.
  const hasKeyAnswer = useHasAnswer(created?.id ?? null);
  const keys = useQuery({ queryKey: ['keys', organization.id, 'start'], queryFn: useRecentKeys(), refetchInterval });
  const base = chooseBase(bases.data?.data ?? [], created?.knowledge_base_ids ?? null);
  return {
    base,
    model: chooseModel(useModels().data?.data ?? [], created?.models ?? null),
    hasDocuments: base !== null && base.document_count > 0,
    hasAnswer,
    usesKey: hasKeyAnswer || (keys.data?.some(({ last_used_at: at }) => at !== null) ?? false),
  };
}

/** Whether one of the latest requests generated text. Null if there are no requests. */
function useHasAnswer(id: string | null): boolean {
  const { organization } = useSession();
  const requests = useQuery({
    queryKey: ['requests', 'start', organization.id, id],
    queryFn: () => {
      const query = { key_id: id ?? '', status: '2xx', limit: MAX_REQUESTS } as const;
      return body(api.GET('/v1/requests', { params: { query } }));
    },
    enabled: id !== null,
    refetchInterval: pollEvery(REFRESH_MS),
  });
  return requests.data?.data.some(({ completion_tokens: tokens }) => tokens > 0) ?? false;
}

/** Loads the newest keys of the organization, or the user's own keys without the permission to manage keys. */
function useRecentKeys() {
  const { organization, scopes } = useSession();
  return async (): Promise<ApiKey[]> => {
    if (!scopes.includes('keys')) return (await body(api.GET('/v1/own-keys'))).data;
    const query = { organization_id: organization.id, limit: 100, order: 'desc' } as const;
    return (await body(api.GET('/v1/admin/keys', { params: { query } }))).data;
  };
}
