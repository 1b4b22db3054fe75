import type { ReactNode } from 'react';
import { type Column, numberColumn } from '../ui/data-table.tsx';
import { useFormat } from '../ui/format.ts';
import { useCommonMessages } from '../ui/messages.ts';
import { type ApiKey, KeyStatus } from './api-key.tsx';
import { useKeyMessages } from './messages.ts';
import { useMonthSpend } from './use-month-spend.ts';

/** The columns of lists of keys: name, state, spend, limit, last use and expiry. */
export function useKeyColumns(nameCell: (key: ApiKey) => ReactNode): Column<ApiKey>[] {
  const keys = useKeyMessages();
  const common = useCommonMessages();
  const format = useFormat();
  const spend = useMonthSpend();
  return [
    { heading: common.name, cell: nameCell },
    { heading: common.status, cell: (key) => <KeyStatus apiKey={key} /> },
    numberColumn(keys.monthSpend, ({ id }) => (spend === undefined ? '…' : format.money(spend.get(id) ?? 0))),
    numberColumn(keys.limit, ({ budget }) =>
      budget === null ? keys.unlimited : `${format.money(budget.limit_micros)} ${keys.periods[budget.period]}`,
    ),
    { heading: keys.lastUsed, cell: ({ last_used_at: time }) => (time === null ? common.never : format.time(time)) },
    { heading: keys.expiresAt, cell: ({ expires_at: time }) => (time === null ? common.never : format.date(time)) },
  ];
}
