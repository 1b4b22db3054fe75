import { Group, Table, VisuallyHidden } from '@mantine/core';
import type { ReactNode } from 'react';
import { useCommonMessages } from './messages.ts';
import { RowMenu } from './row-menu.tsx';

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
  /** Buttons in the menu of a row; null or undefined: no such menu. */
  actions?: ((item: T) => ReactNode) | null | undefined;
  /** The most frequent action, as a button before the menu. */
  mainAction?: (item: T) => ReactNode;
}

const readId = (item: unknown): string => (item as { id: string }).id;

/** A table of items; on phones a list of cards. */
export function DataTable<T>({
  label,
  items,
  rowKey = readId,
  actions,
  mainAction,
  ...table
}: TableProps<T> & { items: readonly T[] }) {
  const common = useCommonMessages();
  const hasActions = Boolean(actions ?? mainAction);
  // The roles are named because the phone layout displays rows as blocks, which removes them in some browsers.
  return (
    <Table.ScrollContainer minWidth={0} className="table-frame" scrollAreaProps={{ viewportProps: { tabIndex: 0 } }}>
      <Table aria-label={label} role="table" className="resource-table">
        <Table.Thead role="rowgroup">
          <Table.Tr role="row">
            {table.columns.map(({ heading, isNumber }) => (
              <Table.Th key={heading} role="columnheader" ta={isNumber ? 'end' : undefined}>
                {heading}
              </Table.Th>
            ))}
            {hasActions && (
              <Table.Th role="columnheader" w={1}>
                <VisuallyHidden>{common.actions}</VisuallyHidden>
              </Table.Th>
            )}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody role="rowgroup">
          {items.map((item) => (
            <Table.Tr key={rowKey(item)} role="row">
              {table.columns.map(({ heading, cell, isNumber }) => (
                <Table.Td key={heading} role="cell" data-heading={heading} ta={isNumber ? 'end' : undefined}>
                  {cell(item)}
                </Table.Td>
              ))}
              {hasActions && (
                <Table.Td role="cell" data-heading={common.actions}>
                  <Group gap={4} wrap="nowrap" justify="flex-end">
                    {mainAction?.(item)}
                    {actions && <RowMenu>{actions(item)}</RowMenu>}
                  </Group>
                </Table.Td>
              )}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}
