import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { api } from '../api/client.ts';
import { sessionQuery } from '../api/session.ts';

/** Shows another organization of the user, by its id. */
export function useSwitchOrganization() {
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  return useMutation({
    mutationFn: (id: string) => api.PATCH('/v1/session', { body: { organization_id: id } }),
    onSuccess: async ({ data }) => {
      // Data of the other organization must not be seen, not even for a moment.
      queryClient.clear();
      queryClient.setQueryData(sessionQuery.queryKey, data ?? null);
      await navigate({ to: '/' });
    },
  });
}
