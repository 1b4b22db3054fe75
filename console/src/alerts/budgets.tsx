import { Button, Group, Progress, Text } from '@mantine/core';
import { useState } from 'react';
import { api } from '../api/client.ts';
import { useSession } from '../api/session.ts';
import type { Schema } from '../api/types.ts';
import { ConfirmButton, RowButton } from '../ui/confirm.tsx';
import { useFormat } from '../ui/format.ts';
import { fill } from '../ui/language.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { Page } from '../ui/page.tsx';
import { ResourceTable } from '../ui/resource-table.tsx';
import { EmptyState } from '../ui/states.tsx';
import { ItemName } from '../ui/text.tsx';
import { BudgetDialog } from './budget-dialog.tsx';
import { useBudgetMessages } from './messages.ts';

type Budget = Schema<'BudgetResource'>;

/** Table of the monthly budgets with their spend and forecast. */
export function BudgetsPage() {
  const messages = useBudgetMessages();
  const common = useCommonMessages();
  const format = useFormat();
  const { organization } = useSession();
  const [edited, setEdited] = useState<Budget | 'new' | null>(null);
  const create = <Button onClick={() => setEdited('new')}>{messages.create}</Button>;
  const counted = ({ key_ids: ids }: Budget) =>
    ids === null ? messages.all : fill(messages.group, { count: ids.length });
  const actions = (budget: Budget) => (
    <Group gap={4}>
      <RowButton label={messages.editAction} name={budget.name} onClick={() => setEdited(budget)} />
      <ConfirmButton
        label={common.delete}
        name={budget.name}
        text={messages.deleteText}
        action={() => api.DELETE('/v1/budgets/{budget_id}', { params: { path: { budget_id: budget.id } } })}
        refreshes={['budgets']}
      />
    </Group>
  );
  return (
    <Page title={messages.title} intro={messages.intro} action={create}>
      <ResourceTable<Budget>
        label={messages.title}
        queryKey={['budgets', organization.id]}
        fetchPage={(query) => api.GET('/v1/budgets', { params: { query } })}
        empty={<EmptyState text={messages.empty}>{create}</EmptyState>}
        columns={[
          { heading: common.name, cell: (budget) => <ItemName name={budget.name} note={counted(budget)} /> },
          { heading: messages.amount, cell: ({ amount_micros: amount }) => format.money(amount), isNumber: true },
          { heading: messages.spent, cell: (budget) => <Spent budget={budget} /> },
          {
            heading: messages.forecast,
            cell: ({ forecast_micros: forecast, amount_micros: amount }) => (
              <Text span inherit {...(forecast !== null && forecast > amount && { c: 'var(--warn)' })}>
                {forecast === null ? '–' : format.money(forecast)}
              </Text>
            ),
            isNumber: true,
          },
          { heading: messages.effect, cell: ({ enforced }) => (enforced ? messages.rejects : messages.alerts) },
        ]}
        actions={actions}
      />
      {edited !== null && <BudgetDialog budget={edited === 'new' ? null : edited} onClose={() => setEdited(null)} />}
    </Page>
  );
}

function Spent({ budget: { name, spent_micros: spent, amount_micros: amount } }: { budget: Budget }) {
  const messages = useBudgetMessages();
  const format = useFormat();
  const share = spent / amount;
  return (
    <div style={{ minWidth: 120 }}>
      {`${format.money(spent)} (${format.percent(share)})`}
      <Progress
        size="xs"
        value={Math.min(100, share * 100)}
        color={share >= 1 ? 'red' : 'accent'}
        aria-label={`${messages.spent}: ${name}`}
      />
    </div>
  );
}
