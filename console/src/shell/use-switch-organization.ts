import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { switchOrganization } from '../api/session.ts';

/** Shows another organization of the user, by its id. */
export function useSwitchOrganization() {
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  return useMutation({
    mutationFn: (id: string) => switchOrganization(queryClient, id),
    onSuccess: () => navigate({ to: '/' }),
  });
}
