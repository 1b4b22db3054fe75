import { Button, Center, Stack, Table } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useMessages } from '../messages/index.tsx';
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

/** A column: its heading and the cell of an item. */
export interface Column<T> {
  heading: string;
  cell(item: T): ReactNode;
  /** Numbers are aligned at the end. */
  isNumber?: boolean;
}

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
  const { common } = useMessages();
  const query = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam }) => fetchPage(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => (page.has_more ? (page.last_id ?? undefined) : undefined),
    refetchInterval: refreshMs ?? false,
  });
  if (query.isPending) return <LoadingState />;
  if (query.isError) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />;
  const items = query.data.pages.flatMap((page) => page.data);
  if (items.length === 0) return typeof empty === 'string' ? <EmptyState text={empty} /> : empty;
  return (
    <Stack>
      {/* The roles are named because the phone layout displays rows as blocks, which removes them in some browsers. */}
      <Table.ScrollContainer minWidth={0}>
        <Table verticalSpacing="sm" aria-label={label} role="table" className="resource-table">
          <Table.Thead role="rowgroup">
            <Table.Tr role="row">
              {columns.map(({ heading, isNumber }) => (
                <Table.Th key={heading} role="columnheader" ta={isNumber ? 'end' : undefined}>
                  {heading}
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody role="rowgroup">
            {items.map((item) => (
              <Table.Tr key={rowKey(item)} role="row">
                {columns.map(({ heading, cell, isNumber }) => (
                  <Table.Td key={heading} role="cell" data-heading={heading} ta={isNumber ? 'end' : undefined}>
                    {cell(item)}
                  </Table.Td>
                ))}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
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
