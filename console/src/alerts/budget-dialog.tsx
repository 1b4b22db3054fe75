import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, body } from '../api/client.ts';
import { useSession } from '../api/session.ts';
import type { Schema } from '../api/types.ts';
import { MultiSelectField, NameField, NumberField, SwitchField, TagsField } from '../ui/fields.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { useBudgetMessages } from './messages.ts';

/** Keys and members to choose from. */
const MAX_LISTED = 100;
const MICROS = 1_000_000;
const DEFAULT_THRESHOLDS = ['50', '80', '100'];

/** Dialog that creates a budget, or edits `budget` if it is not null. */
export function BudgetDialog({ budget, onClose }: { budget: Schema<'BudgetResource'> | null; onClose(): void }) {
  const messages = useBudgetMessages();
  const options = useBudgetMembers();
  const [name, setName] = useState(budget?.name ?? '');
  const [amount, setAmount] = useState<number | string>(budget === null ? '' : budget.amount_micros / MICROS);
  const [ids, setIds] = useState<string[]>(budget?.key_ids ?? []);
  const [thresholds, setThresholds] = useState(budget?.thresholds.map(String) ?? DEFAULT_THRESHOLDS);
  const [isEnforced, setEnforced] = useState(budget?.enforced ?? false);
  const submit = () => {
    const fields = {
      name,
      amount_micros: Math.round(Number(amount) * MICROS),
      key_ids: ids.length === 0 ? null : ids,
      thresholds: thresholds.map(Number),
      enforced: isEnforced,
    };
    if (budget === null) return api.POST('/v1/budgets', { body: fields });
    return api.PATCH('/v1/budgets/{budget_id}', { params: { path: { budget_id: budget.id } }, body: fields });
  };
  const title = budget === null ? messages.create : messages.edit;
  const dialog = { title, isNew: budget === null, onClose, submit, refreshes: ['budgets', 'alerts'] };
  return (
    <FormDialog {...dialog}>
      <NameField maxLength={64} value={name} onChange={setName} />
      <NumberField
        param="amount_micros"
        label={messages.amount}
        required
        prefix="$"
        min={0.000001}
        value={amount}
        onChange={setAmount}
      />
      <MultiSelectField
        param="key_ids"
        label={messages.members}
        description={messages.membersHint}
        searchable
        data={options}
        value={ids}
        onChange={setIds}
      />
      <TagsField
        param="thresholds"
        label={messages.thresholds}
        description={messages.thresholdsHint}
        value={thresholds}
        onChange={setThresholds}
      />
      <SwitchField
        label={messages.enforced}
        description={messages.enforcedHint}
        checked={isEnforced}
        onChange={setEnforced}
      />
    </FormDialog>
  );
}

/** Loads the keys and members of the organization. */
function useBudgetMembers() {
  const { organization } = useSession();
  const { data = [] } = useQuery({
    queryKey: ['budget-options', organization.id],
    queryFn: async () => {
      const query = { limit: MAX_LISTED };
      const [keys, members] = await Promise.all([
        body(api.GET('/v1/admin/keys', { params: { query } })),
        body(api.GET('/v1/admin/members', { params: { query } })),
      ]);
      return [
        ...keys.data
          .filter(({ organization_id: id }) => id === organization.id)
          .map(({ id, name, hint }) => ({ value: id, label: `${name} (…${hint})` })),
        ...members.data.map(({ id, email }) => ({ value: id, label: email })),
      ];
    },
  });
  return data;
}
