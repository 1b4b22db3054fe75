import { queryOptions, useQuery } from '@tanstack/react-query';
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
