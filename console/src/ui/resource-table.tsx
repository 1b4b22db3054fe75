import { Button, Center, Stack } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { pollEvery } from '../api/client.ts';
import { type Column, DataTable } from './data-table.tsx';
import { useCommonMessages } from './messages.ts';
import { EmptyState, ErrorState, LoadingState } from './states.tsx';

/** A page of a list of the API. */
export interface ListPage<T> {
  data: T[];
  has_more: boolean;
  last_id: string | null;
}

/** The items of the list that a function reads. */
export type ItemOf<Read extends (...args: never[]) => Promise<ListPage<unknown>>> = Awaited<
  ReturnType<Read>
>['data'][number];

export type { Column } from './data-table.tsx';

interface ResourceTableProps<T> {
  label: string;
  queryKey: readonly unknown[];
  /** Reads the page after the item `after`. */
  fetchPage(after: string | undefined): Promise<ListPage<T>>;
  columns: readonly Column<T>[];
  rowKey(item: T): string;
  empty: ReactNode;
  /** Milliseconds between reads, while the items change by themselves. */
  refreshMs?: number;
}

/** A table of a list of the API, a page at a time, with its loading, empty and error states. */
export function ResourceTable<T>({
  label,
  queryKey,
  fetchPage,
  columns,
  rowKey,
  empty,
  refreshMs,
}: ResourceTableProps<T>) {
  const common = useCommonMessages();
  const query = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam }) => fetchPage(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => (page.has_more ? (page.last_id ?? undefined) : undefined),
    refetchInterval: refreshMs === undefined ? false : pollEvery(refreshMs),
  });
  if (query.isPending) return <LoadingState />;
  if (query.isError) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />;
  const items = query.data.pages.flatMap((page) => page.data);
  if (items.length === 0) return typeof empty === 'string' ? <EmptyState text={empty} /> : empty;
  return (
    <Stack>
      <DataTable label={label} items={items} columns={columns} rowKey={rowKey} />
      {query.hasNextPage && (
        <Center>
          <Button variant="default" loading={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
            {common.more}
          </Button>
        </Center>
      )}
    </Stack>
  );
}
