import { Button, Code, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { api, body } from '../api/client.ts';
import type { Schema } from '../api/types.ts';
import { CREDIT_NOTE } from '../api/values.ts';
import { ConfirmButton, RowButton } from '../ui/confirm.tsx';
import { numberColumn } from '../ui/data-table.tsx';
import { Modal } from '../ui/dialogs.tsx';
import { NameField, NumberField, TextField } from '../ui/fields.tsx';
import { DialogButton, FormDialog } from '../ui/form-dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { fill } from '../ui/language.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { Page } from '../ui/page.tsx';
import { ResourceTable } from '../ui/resource-table.tsx';
import { AddressSearch } from '../ui/search-field.tsx';
import { QueryData } from '../ui/states.tsx';
import { useOrganizationMessages } from './messages.ts';

type Organization = Schema<'Organization'>;

const REFRESHES = ['organizations'];
const creditsKey = (organizationId: string) => [...REFRESHES, organizationId, 'credits'];
const MICROS = 1_000_000;

/** Organizations of the instance with their credits, for operators. */
export function OrganizationsPage() {
  const organizations = useOrganizationMessages();
  const common = useCommonMessages();
  const { q } = useSearch({ from: '/shell/organizations' });
  const format = useFormat();
  return (
    <Page
      title={organizations.title}
      intro={organizations.intro}
      action={
        <DialogButton label={organizations.create}>
          {(close) => <NameDialog organization={null} onClose={close} />}
        </DialogButton>
      }
    >
      <AddressSearch label={`${common.search}: ${organizations.title}`} />
      <ResourceTable<Organization>
        label={organizations.title}
        queryKey={[...REFRESHES, q]}
        fetchPage={(page) => api.GET('/v1/admin/organizations', { params: { query: { ...page, search: q } } })}
        empty={common.none}
        columns={[
          { heading: common.name, cell: ({ name }) => <Text fw={500}>{name}</Text> },
          { heading: 'ID', cell: ({ id }) => <Code>{id}</Code> },
          numberColumn(organizations.credits, ({ balance_micros: micros }) =>
            micros === null ? organizations.unlimited : format.money(micros),
          ),
          { heading: common.created, cell: (organization) => format.time(organization.created_at) },
        ]}
        actions={(organization) => <Actions organization={organization} />}
      />
    </Page>
  );
}

function Actions({ organization }: { organization: Organization }) {
  const organizations = useOrganizationMessages();
  const common = useCommonMessages();
  const [dialog, setDialog] = useState<'credits' | 'rename' | null>(null);
  const close = () => setDialog(null);
  const params = { path: { organization_id: organization.id } };
  return (
    <Group gap={4} wrap="nowrap">
      {(['credits', 'rename'] as const).map((each) => (
        <RowButton key={each} label={organizations[each]} name={organization.name} onClick={() => setDialog(each)} />
      ))}
      <ConfirmButton
        label={common.delete}
        name={organization.name}
        text={organizations.deleteText}
        action={() => api.DELETE('/v1/admin/organizations/{organization_id}', { params })}
        refreshes={REFRESHES}
      />
      {dialog === 'rename' && <NameDialog organization={organization} onClose={close} />}
      {dialog === 'credits' && <CreditsDialog organization={organization} onClose={close} />}
    </Group>
  );
}

/** Creates an organization, or renames one. */
function NameDialog({ organization, onClose }: { organization: Organization | null; onClose(): void }) {
  const organizations = useOrganizationMessages();
  const [name, setName] = useState(organization?.name ?? '');
  const submit = async () => {
    if (organization === null) await api.POST('/v1/admin/organizations', { body: { name } });
    else {
      const params = { path: { organization_id: organization.id } };
      await api.PATCH('/v1/admin/organizations/{organization_id}', { params, body: { name } });
    }
  };
  const title = organization === null ? organizations.create : `${organizations.rename}: ${organization.name}`;
  return (
    <FormDialog title={title} isNew={organization === null} onClose={onClose} submit={submit} refreshes={REFRESHES}>
      <NameField description={organizations.nameHint} value={name} onChange={setName} />
    </FormDialog>
  );
}

/** The balance of an organization, its transactions, and a form that adds or subtracts credit. */
function CreditsDialog({ organization, onClose }: { organization: Organization; onClose(): void }) {
  const organizations = useOrganizationMessages();
  const format = useFormat();
  const [isChanging, setChanging] = useState(false);
  const credits = useQuery({
    queryKey: creditsKey(organization.id),
    queryFn: () => {
      const params = { path: { organization_id: organization.id } };
      return body(api.GET('/v1/admin/credits/{organization_id}', { params }));
    },
  });
  const balance = credits.data?.balance_micros ?? null;
  return (
    <Modal
      opened
      onClose={onClose}
      // Escape closes only the dialog above.
      closeOnEscape={!isChanging}
      title={`${organizations.credits}: ${organization.name}`}
      size="xl"
    >
      <Stack>
        <QueryData query={credits}>
          {() => (
            <Group justify="space-between">
              <Text size="xl" fw={650}>
                {balance === null ? organizations.unlimited : format.money(balance)}
              </Text>
              <Button onClick={() => setChanging(true)}>{organizations.change}</Button>
            </Group>
          )}
        </QueryData>
        <TransactionsTable organizationId={organization.id} />
      </Stack>
      {isChanging && (
        <ChangeCreditsDialog
          organization={organization}
          isUnlimited={balance === null}
          onClose={() => setChanging(false)}
        />
      )}
    </Modal>
  );
}

/** The credit transactions of an organization, newest first. */
function TransactionsTable({ organizationId }: { organizationId: string }) {
  const organizations = useOrganizationMessages();
  const common = useCommonMessages();
  const format = useFormat();
  return (
    <ResourceTable<Schema<'CreditTransaction'>>
      label={organizations.ledger}
      queryKey={[...creditsKey(organizationId), 'ledger']}
      fetchPage={(query) => {
        const params = { path: { organization_id: organizationId }, query };
        return api.GET('/v1/admin/credits/{organization_id}/transactions', { params });
      }}
      empty={organizations.noTransactions}
      columns={[
        { heading: common.created, cell: (transaction) => format.time(transaction.created_at) },
        { heading: organizations.kind, cell: ({ kind }) => organizations.kinds[kind] },
        numberColumn(organizations.amount, ({ amount_micros: micros }) => format.money(micros)),
        { heading: organizations.note, cell: ({ note }) => note ?? '' },
      ]}
    />
  );
}

interface ChangeCreditsProps {
  organization: Organization;
  isUnlimited: boolean;
  onClose(): void;
}

/** Adds or subtracts credit; an unlimited balance is set. */
function ChangeCreditsDialog({ organization, isUnlimited, onClose }: ChangeCreditsProps) {
  const organizations = useOrganizationMessages();
  const [amount, setAmount] = useState<number | string>('');
  const [note, setNote] = useState('');
  // Repeated after a failure of the network, the form adds the credit once.
  const [idempotencyKey] = useState(() => crypto.getRandomValues(new Uint32Array(4)).join('-'));
  const submit = async () => {
    const micros = Math.round(Number(amount) * MICROS);
    const params = { path: { organization_id: organization.id } };
    const noted = note === '' ? {} : { note };
    if (isUnlimited) {
      await api.PUT('/v1/admin/credits/{organization_id}', { params, body: { balance_micros: micros, ...noted } });
    } else {
      await api.POST('/v1/admin/credits/{organization_id}/transactions', {
        params,
        body: { amount_micros: micros, ...noted },
        headers: { 'idempotency-key': idempotencyKey },
      });
    }
  };
  const title = fill(organizations.changeOf, { name: organization.name });
  return (
    <FormDialog title={title} onClose={onClose} submit={submit} refreshes={REFRESHES}>
      <NumberField
        param={isUnlimited ? 'balance_micros' : 'amount_micros'}
        label={isUnlimited ? organizations.newBalance : organizations.amount}
        description={isUnlimited ? organizations.setHint : organizations.adjustHint}
        data-autofocus
        required
        {...(isUnlimited && { min: 0 })}
        value={amount}
        onChange={setAmount}
      />
      <TextField param="note" label={organizations.note} {...CREDIT_NOTE} value={note} onChange={setNote} />
    </FormDialog>
  );
}
