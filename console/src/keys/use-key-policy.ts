import { useQuery } from '@tanstack/react-query';
import { api, body } from '../api/client.ts';
import { useSession } from '../api/session.ts';

/** What people of the organization may give to keys of their own. */
export function useKeyPolicy() {
  const { organization } = useSession();
  return useQuery({
    queryKey: ['keys', organization.id, 'policy'],
    queryFn: () => body(api.GET('/v1/key-policy')),
  });
}
