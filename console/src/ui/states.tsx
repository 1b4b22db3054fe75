import { Alert, Anchor, Button, Code, Group, Skeleton, Stack, Text } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import { Inbox, type LucideIcon } from 'lucide-react';
import type { ReactNode } from 'react';
import { ApiFailure } from '../api/client.ts';
import { Icon } from './icon.tsx';
import { type CommonMessages, useCommonMessages } from './messages.ts';

/** Lines of the skeleton, of different lengths like a text. */
const SKELETON_WIDTHS = ['100%', '92%', '97%', '78%'];

/** Shown while a page loads. */
export function LoadingState() {
  const common = useCommonMessages();
  return (
    <Stack gap="xs" role="status" aria-label={common.loading} className="loading">
      {SKELETON_WIDTHS.map((width) => (
        <Skeleton key={width} height={20} width={width} />
      ))}
    </Stack>
  );
}

/** Shown instead of an empty list, with what to do next. */
export function EmptyState({
  text,
  icon = Inbox,
  children,
}: {
  text: string;
  icon?: LucideIcon;
  children?: ReactNode;
}) {
  return (
    <Stack align="center" p={36} gap="xs">
      <Icon icon={icon} className="empty-icon" />
      <Text c="dimmed" ta="center">
        {text}
      </Text>
      {children}
    </Stack>
  );
}

/** Shows the message of a failed request and its id, by which operators find it in the logs. */
export function ErrorState({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const common = useCommonMessages();
  const failure = error instanceof ApiFailure ? error : null;
  const hasNoSession = failure !== null && isSessionMissing(failure);
  const message = failure === null ? describe(error) : (consoleMessage(failure, common) ?? failure.message);
  return (
    <Alert color="red" role="alert" title={message}>
      <Group justify="space-between" gap="sm">
        {failure?.requestId != null ? (
          <details>
            <Text component="summary" size="xs" style={{ cursor: 'pointer' }}>
              {common.details}
            </Text>
            {common.requestId} <Code>{failure.requestId}</Code>
          </details>
        ) : (
          <span />
        )}
        {hasNoSession && (
          // In another tab, so that the entries of a form are not lost.
          <Anchor href={`/sign-in?from=${encodeURIComponent(location.pathname)}`} target="_blank" rel="noopener">
            {common.signInAgain}
          </Anchor>
        )}
        {onRetry !== undefined && !hasNoSession && (
          <Button size="xs" variant="default" onClick={onRetry}>
            {common.retry}
          </Button>
        )}
      </Group>
    </Alert>
  );
}

type QueryState = Pick<UseQueryResult, 'isError' | 'error' | 'refetch'>;

/** Shows the error of a failed query with a retry button. */
export function QueryError({ query }: { query: QueryState }) {
  return query.isError ? <ErrorState error={query.error} onRetry={() => void query.refetch()} /> : null;
}

/** Shows the first error of queries without data, or a loading indicator. */
export function UnfinishedQueries({ queries }: { queries: readonly QueryState[] }) {
  const failed = queries.find(({ isError }) => isError);
  return failed === undefined ? <LoadingState /> : <QueryError query={failed} />;
}

/** Shows the data of a query; before, its error or a loading indicator. */
export function QueryData<T>({ query, children }: { query: UseQueryResult<T>; children(data: T): ReactNode }) {
  return query.data === undefined ? <UnfinishedQueries queries={[query]} /> : children(query.data);
}

/** Shows the error of a failed mutation. */
export function MutationError({ mutation }: { mutation: { error: Error | null } }) {
  return mutation.error && <ErrorState error={mutation.error} />;
}

/** Whether a request had no valid session. A wrong password is a 401 as well. */
const isSessionMissing = ({ status, code }: ApiFailure): boolean => status === 401 && code !== 'invalid_credentials';

/** What the console says instead of the message of the API; null: the message is shown. */
function consoleMessage(failure: ApiFailure, common: CommonMessages): string | null {
  const { status, param } = failure;
  if (status === 0) return common.unreachable;
  if (isSessionMissing(failure)) return common.sessionEnded;
  return status === 403 && param === null ? common.denied : null;
}

/** The message of an error for people. */
export const describe = (error: unknown): string => (error instanceof Error ? error.message : String(error));
