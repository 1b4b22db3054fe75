import { Button, Center, Stack } from '@mantine/core';
import { type UseInfiniteQueryResult, useInfiniteQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { body, pollEvery } from '../api/client.ts';
import { DataTable, type TableProps } from './data-table.tsx';
import { useCommonMessages } from './messages.ts';
import { EmptyState, UnfinishedQueries } from './states.tsx';

/** A page of a list of the API. */
export interface ListPage<T> {
  data: T[];
  has_more: boolean;
  last_id: string | null;
}

/** Query parameters of a page of a list. */
export interface PageQuery {
  after: string | undefined;
  limit: number;
}

const PAGE_ITEMS = 50;

interface ResourceTableProps<T> extends TableProps<T> {
  queryKey: readonly unknown[];
  fetchPage(page: PageQuery): Promise<{ data?: ListPage<T> }>;
  empty: ReactNode;
  /** Milliseconds between reads, while the items change by themselves. */
  refreshMs?: number;
}

/** A table of a list of the API, a page at a time, with its loading, empty and error states. */
export function ResourceTable<T>({ queryKey, fetchPage, empty, refreshMs, ...table }: ResourceTableProps<T>) {
  const query = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam }) => body(fetchPage({ after: pageParam, limit: PAGE_ITEMS })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: nextPage,
    refetchInterval: refreshMs === undefined ? false : pollEvery(refreshMs),
  });
  if (query.data === undefined || query.isError) return <UnfinishedQueries queries={[query]} />;
  const items = query.data.pages.flatMap((page) => page.data);
  if (items.length === 0 && !query.hasNextPage) return typeof empty === 'string' ? <EmptyState text={empty} /> : empty;
  return (
    <Stack>
      <DataTable {...table} items={items} />
      <MoreButton query={query} />
    </Stack>
  );
}

/** Returns the cursor of the next page of a list of the API; undefined after the last. */
export const nextPage = ({ has_more: hasMore, last_id: lastId }: ListPage<unknown>): string | undefined =>
  hasMore ? (lastId ?? undefined) : undefined;

/** A button that reads the next page of a list, if there is one. */
export function MoreButton({
  query,
}: {
  query: Pick<UseInfiniteQueryResult, 'hasNextPage' | 'isFetchingNextPage' | 'fetchNextPage'>;
}) {
  const common = useCommonMessages();
  if (!query.hasNextPage) return null;
  return (
    <Center>
      <Button variant="default" loading={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
        {common.more}
      </Button>
    </Center>
  );
}
