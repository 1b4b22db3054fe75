import { Button, Code, Group, Modal, Stack, Text } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { api, body } from '../api/client.ts';
import type { paths } from '../api/schema.d.ts';
import { ConfirmButton } from '../ui/confirm.tsx';
import { NumberField, TextField } from '../ui/fields.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { fill } from '../ui/language.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { Page } from '../ui/page.tsx';
import { ResourceTable } from '../ui/resource-table.tsx';
import { SearchField } from '../ui/search-field.tsx';
import { ErrorState, LoadingState } from '../ui/states.tsx';
import { useOrganizationMessages } from './messages.ts';

type Organization =
  paths['/v1/admin/organizations']['get']['responses'][200]['content']['application/json']['data'][number];
type Transaction =
  paths['/v1/admin/credits/{organization_id}/transactions']['get']['responses'][200]['content']['application/json']['data'][number];

const QUERY_KEY = ['organizations'];
const creditsKey = (organizationId: string) => [...QUERY_KEY, organizationId, 'credits'];
const MICROS = 1_000_000;

/** Organizations of the instance with their credits, for operators. */
export function OrganizationsPage() {
  const organizations = useOrganizationMessages();
  const common = useCommonMessages();
  const { q } = useSearch({ from: '/shell/organizations' });
  const navigate = useNavigate({ from: '/organizations' });
  const format = useFormat();
  const [isCreating, setCreating] = useState(false);
  return (
    <Page
      title={organizations.title}
      intro={organizations.intro}
      action={<Button onClick={() => setCreating(true)}>{organizations.create}</Button>}
    >
      <Group>
        <SearchField
          label={`${common.search}: ${organizations.title}`}
          value={q ?? ''}
          onSearch={(text) => void navigate({ search: { q: text === '' ? undefined : text }, replace: true })}
        />
      </Group>
      <ResourceTable<Organization>
        label={organizations.title}
        queryKey={[...QUERY_KEY, q]}
        fetchPage={(after) => {
          const query = { after, limit: 50, ...(q && { search: q }) };
          return body(api.GET('/v1/admin/organizations', { params: { query } }));
        }}
        rowKey={(organization) => organization.id}
        empty={common.none}
        columns={[
          { heading: common.name, cell: ({ name }) => <Text fw={500}>{name}</Text> },
          { heading: 'ID', cell: ({ id }) => <Code>{id}</Code> },
          {
            heading: organizations.credits,
            isNumber: true,
            cell: ({ balance_micros: micros }) => (micros === null ? organizations.unlimited : format.money(micros)),
          },
          { heading: common.created, cell: (organization) => format.time(organization.created_at) },
          { heading: common.actions, cell: (organization) => <Actions organization={organization} /> },
        ]}
      />
      {isCreating && <NameDialog organization={null} onClose={() => setCreating(false)} />}
    </Page>
  );
}

function Actions({ organization }: { organization: Organization }) {
  const organizations = useOrganizationMessages();
  const common = useCommonMessages();
  const queryClient = useQueryClient();
  const [dialog, setDialog] = useState<'credits' | 'rename' | null>(null);
  const close = () => setDialog(null);
  return (
    <Group gap={4} wrap="nowrap">
      {(['credits', 'rename'] as const).map((each) => (
        <Button
          key={each}
          size="compact-sm"
          variant="subtle"
          onClick={() => setDialog(each)}
          aria-label={`${organizations[each]}: ${organization.name}`}
        >
          {organizations[each]}
        </Button>
      ))}
      <ConfirmButton
        label={common.delete}
        title={organization.name}
        text={organizations.deleteText}
        action={async () => {
          await api.DELETE('/v1/admin/organizations/{organization_id}', {
            params: { path: { organization_id: organization.id } },
          });
          await queryClient.invalidateQueries({ queryKey: QUERY_KEY });
        }}
      />
      {dialog === 'rename' && <NameDialog organization={organization} onClose={close} />}
      {dialog === 'credits' && <CreditsDialog organization={organization} onClose={close} />}
    </Group>
  );
}

/** Creates an organization, or renames one. */
function NameDialog({ organization, onClose }: { organization: Organization | null; onClose(): void }) {
  const organizations = useOrganizationMessages();
  const common = useCommonMessages();
  const queryClient = useQueryClient();
  const [name, setName] = useState(organization?.name ?? '');
  const submit = async () => {
    if (organization === null) await api.POST('/v1/admin/organizations', { body: { name } });
    else {
      const params = { path: { organization_id: organization.id } };
      await api.PATCH('/v1/admin/organizations/{organization_id}', { params, body: { name } });
    }
    await queryClient.invalidateQueries({ queryKey: QUERY_KEY });
  };
  const title = organization === null ? organizations.create : `${organizations.rename}: ${organization.name}`;
  return (
    <FormDialog title={title} onClose={onClose} submit={submit}>
      <TextField
        param="name"
        label={common.name}
        description={organizations.nameHint}
        data-autofocus
        required
        maxLength={64}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
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
        {credits.isPending && <LoadingState />}
        {credits.isError && <ErrorState error={credits.error} onRetry={() => void credits.refetch()} />}
        {credits.isSuccess && (
          <Group justify="space-between">
            <Text size="xl" fw={650}>
              {balance === null ? organizations.unlimited : format.money(balance)}
            </Text>
            <Button onClick={() => setChanging(true)}>{organizations.change}</Button>
          </Group>
        )}
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
    <ResourceTable<Transaction>
      label={organizations.ledger}
      queryKey={[...creditsKey(organizationId), 'ledger']}
      fetchPage={(after) => {
        const params = { path: { organization_id: organizationId }, query: { after, limit: 25 } };
        return body(api.GET('/v1/admin/credits/{organization_id}/transactions', { params }));
      }}
      rowKey={(transaction) => transaction.id}
      empty={organizations.noTransactions}
      columns={[
        { heading: common.created, cell: (transaction) => format.time(transaction.created_at) },
        { heading: organizations.kind, cell: ({ kind }) => organizations.kinds[kind] },
        { heading: organizations.amount, isNumber: true, cell: ({ amount_micros: micros }) => format.money(micros) },
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
  const queryClient = useQueryClient();
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
    await queryClient.invalidateQueries({ queryKey: QUERY_KEY });
  };
  return (
    <FormDialog title={fill(organizations.changeOf, { name: organization.name })} onClose={onClose} submit={submit}>
      <NumberField
        param={isUnlimited ? 'balance_micros' : 'amount_micros'}
        label={isUnlimited ? organizations.newBalance : organizations.amount}
        description={isUnlimited ? organizations.setHint : organizations.adjustHint}
        data-autofocus
        required
        decimalScale={6}
        {...(isUnlimited && { min: 0 })}
        value={amount}
        onChange={setAmount}
      />
      <TextField
        param="note"
        label={organizations.note}
        maxLength={200}
        value={note}
        onChange={(event) => setNote(event.currentTarget.value)}
      />
    </FormDialog>
  );
}
