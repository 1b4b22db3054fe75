import { Table } from '@mantine/core';
import type { ReactNode } from 'react';
import { useCommonMessages } from './messages.ts';

/** A column: its heading and the cell of an item. */
export interface Column<T> {
  heading: string;
  cell(item: T): ReactNode;
  /** Numbers are aligned at the end. */
  isNumber?: boolean;
}

/** A column of numbers. */
export const numberColumn = <T,>(heading: string, cell: (item: T) => ReactNode): Column<T> => ({
  heading,
  cell,
  isNumber: true,
});

/** The columns of a table, and what can be done with its items. */
export interface TableProps<T> {
  label: string;
  columns: readonly Column<T>[];
  /** Default: the id. */
  rowKey?(item: T): string;
  /** The cell of the last column; null or undefined: no such column. */
  actions?: ((item: T) => ReactNode) | null | undefined;
}

const readId = (item: unknown): string => (item as { id: string }).id;

/** A table of items; on phones a list of cards. */
export function DataTable<T>({
  label,
  items,
  rowKey = readId,
  actions,
  ...table
}: TableProps<T> & { items: readonly T[] }) {
  const common = useCommonMessages();
  const columns = actions
    ? [...table.columns, { heading: common.actions, cell: actions, isNumber: false }]
    : table.columns;
  // The roles are named because the phone layout displays rows as blocks, which removes them in some browsers.
  return (
    <Table.ScrollContainer minWidth={0} scrollAreaProps={{ viewportProps: { tabIndex: 0 } }}>
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
  );
}
