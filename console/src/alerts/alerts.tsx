import { Stack } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { api, body } from '../api/client.ts';
import { useSession } from '../api/session.ts';
import { AlertCard } from '../shell/alert-card.tsx';
import { Page } from '../ui/page.tsx';
import { MoreButton, nextPage } from '../ui/resource-table.tsx';
import { EmptyState, UnfinishedQueries } from '../ui/states.tsx';
import { useAlertPageMessages } from './messages.ts';

/** List of open and resolved alerts, newest first. */
export function AlertsPage() {
  const messages = useAlertPageMessages();
  const { organization } = useSession();
  const query = useInfiniteQuery({
    queryKey: ['alerts', organization.id, 'all'],
    queryFn: ({ pageParam }) =>
      body(api.GET('/v1/alerts', { params: { query: { order: 'desc', limit: 20, after: pageParam } } })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: nextPage,
  });
  const alerts = query.data?.pages.flatMap(({ data }) => data) ?? [];
  return (
    <Page title={messages.title} intro={messages.intro}>
      {query.data === undefined || query.isError ? (
        <UnfinishedQueries queries={[query]} />
      ) : (
        <Stack gap="md" maw={720}>
          {alerts.length === 0 && <EmptyState text={messages.empty} />}
          {alerts.map((alert) => (
            <AlertCard key={alert.id} alert={alert} />
          ))}
          <MoreButton query={query} />
        </Stack>
      )}
    </Page>
  );
}
