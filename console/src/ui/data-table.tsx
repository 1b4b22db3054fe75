import { Group, Table, UnstyledButton, VisuallyHidden } from '@mantine/core';
import { type KeyboardEvent, type ReactNode, useEffect, useRef } from 'react';

import { isTyping } from './is-typing.ts';
import { useCommonMessages } from './messages.ts';
import { RowMenu } from './row-menu.tsx';

/** A column: its heading and the cell of an item. */
export interface Column<T> {
  heading: string;
  cell(item: T): ReactNode;
  /** Numbers are aligned at the end. */
  isNumber?: boolean;
  /** The order of the items, where the column can reverse it. */
  sort?: { order: 'asc' | 'desc'; toggle(): void };
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
  /** Opens an item: a click on its row, or `Enter`; `j` and `k` go to the next and previous row. */
  onOpen?: ((item: T) => void) | undefined;
  /** Key of the row that is open. */
  openKey?: string | undefined;
}

const readId = (item: unknown): string => (item as { id: string }).id;

/** A table of items; on phones a list of cards. */
export function DataTable<T>({
  label,
  items,
  rowKey = readId,
  actions,
  mainAction,
  onOpen,
  openKey,
  ...table
}: TableProps<T> & { items: readonly T[] }) {
  const common = useCommonMessages();
  const hasActions = Boolean(actions ?? mainAction);
  const body = useRowKeys(onOpen !== undefined);
  // The roles are named because the phone layout displays rows as blocks, which removes them in some browsers.
  return (
    <Table.ScrollContainer minWidth={0} className="table-frame" scrollAreaProps={{ viewportProps: { tabIndex: 0 } }}>
      <Table aria-label={label} role="table" className="resource-table">
        <Table.Thead role="rowgroup">
          <Table.Tr role="row">
            {table.columns.map((column) => (
              <Heading key={column.heading} column={column} />
            ))}
            {hasActions && (
              <Table.Th role="columnheader" w={1}>
                <VisuallyHidden>{common.actions}</VisuallyHidden>
              </Table.Th>
            )}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody role="rowgroup" ref={body}>
          {items.map((item) => (
            <Table.Tr
              key={rowKey(item)}
              role="row"
              {...openProps(rowKey(item) === openKey, onOpen && (() => onOpen(item)))}
            >
              {table.columns.map(({ heading, cell, isNumber }) => (
                <Table.Td key={heading} role="cell" data-heading={heading} className={numberClass(isNumber)}>
                  {cell(item)}
                </Table.Td>
              ))}
              {hasActions && (
                // Clicks on an action or its dialog do not open the row.
                <Table.Td role="cell" data-heading={common.actions} onClick={(event) => event.stopPropagation()}>
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

const numberClass = (isNumber = false) => (isNumber ? 'number-cell' : undefined);

/** Properties of a row that opens its item; none without `open`. */
const openProps = (isOpen: boolean, open: (() => void) | undefined) =>
  open && {
    tabIndex: 0,
    className: 'row-link',
    'aria-current': isOpen || undefined,
    onClick: open,
    onKeyDown: ({ key, target, currentTarget }: KeyboardEvent) => {
      if (key === 'Enter' && target === currentTarget) open();
    },
  };

function Heading({ column: { heading, isNumber, sort } }: { column: Column<never> }) {
  const sorted = sort && (sort.order === 'asc' ? 'ascending' : 'descending');
  return (
    <Table.Th role="columnheader" className={numberClass(isNumber)} aria-sort={sorted}>
      {sort === undefined ? (
        heading
      ) : (
        <UnstyledButton className="sort-button" onClick={sort.toggle}>
          {heading} <span aria-hidden="true">{sort.order === 'asc' ? '↑' : '↓'}</span>
        </UnstyledButton>
      )}
    </Table.Th>
  );
}

/** Moves the focus between the rows of a table by `j` and `k`, outside of fields. Beside an open row, it opens them. */
function useRowKeys(isActive: boolean) {
  const body = useRef<HTMLTableSectionElement>(null);
  useEffect(() => {
    if (!isActive) return;
    const move = (event: globalThis.KeyboardEvent) => {
      const step = event.key === 'j' ? 1 : event.key === 'k' ? -1 : 0;
      if (step === 0 || isTyping(event) || event.ctrlKey || event.metaKey || event.altKey) return;
      const rows = [...(body.current?.rows ?? [])];
      const open = rows.findIndex((row) => row.ariaCurrent === 'true');
      const focused = rows.indexOf(document.activeElement as HTMLTableRowElement);
      const from = focused === -1 ? open : focused;
      const next = rows[from === -1 ? 0 : from + step];
      next?.focus();
      if (open !== -1) next?.click();
    };
    document.addEventListener('keydown', move);
    return () => document.removeEventListener('keydown', move);
  }, [isActive]);
  return body;
}
