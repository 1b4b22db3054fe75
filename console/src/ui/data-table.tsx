import { Table } from '@mantine/core';
import type { ReactNode } from 'react';

/** A column: its heading and the cell of an item. */
export interface Column<T> {
  heading: string;
  cell(item: T): ReactNode;
  /** Numbers are aligned at the end. */
  isNumber?: boolean;
}

interface DataTableProps<T> {
  label: string;
  items: readonly T[];
  columns: readonly Column<T>[];
  rowKey(item: T): string;
}

/** A table of items; on phones a list of cards. */
export function DataTable<T>({ label, items, columns, rowKey }: DataTableProps<T>) {
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
