import { type QueryClient, queryOptions, useQuery } from '@tanstack/react-query';
import { ApiFailure, api, body } from './client.ts';
import type { paths } from './schema.d.ts';

/** The signed-in user with the organization that is shown. */
export type Session = paths['/v1/session']['get']['responses'][200]['content']['application/json'];

/** The session; null when nobody is signed in. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: async (): Promise<Session | null> => {
    try {
      return await body(api.GET('/v1/session'));
    } catch (error) {
      if (error instanceof ApiFailure && error.status === 401) return null;
      throw error;
    }
  },
  staleTime: 60_000,
});

type RequestBody<Path extends keyof paths, Method extends string> = paths[Path] extends {
  [_ in Method]: { requestBody?: { content: { 'application/json': infer Body } } };
}
  ? Body
  : never;

/** Signs in with a password. */
export const signIn = (queryClient: QueryClient, request: RequestBody<'/v1/session', 'post'>) =>
  openSession(queryClient, api.POST('/v1/session', { body: request }));

/** Accepts an invitation, which signs in. */
export const acceptInvitation = (queryClient: QueryClient, request: RequestBody<'/v1/invitations/accept', 'post'>) =>
  openSession(queryClient, api.POST('/v1/invitations/accept', { body: request }));

/** Sets a lost password by a link, which signs in. */
export const resetPassword = (queryClient: QueryClient, request: RequestBody<'/v1/session/password-reset', 'post'>) =>
  openSession(queryClient, api.POST('/v1/session/password-reset', { body: request }));

/** Shows another organization of the user, by its id. */
export const switchOrganization = (queryClient: QueryClient, id: string) =>
  openSession(queryClient, api.PATCH('/v1/session', { body: { organization_id: id } }));

/**
 * Shows the session of a response. Data of the previous user or organization must not be seen, not even for a moment,
 * and not every query names its organization.
 */
async function openSession(queryClient: QueryClient, call: Promise<{ data?: Session }>): Promise<void> {
  const session = await body(call);
  queryClient.clear();
  queryClient.setQueryData(sessionQuery.queryKey, session);
}

/** The session of a page behind the sign-in. */
export function useSession(): Session {
  const { data } = useQuery(sessionQuery);
  if (data == null) throw new Error('useSession needs a signed-in user');
  return data;
}

/** Whether the user's role permits changes. */
export function useMayWrite(): boolean {
  return useSession().organization.role !== 'viewer';
}
