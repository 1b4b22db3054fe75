import { Button, Code, Group } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { api, body } from '../api/client.ts';
import { useSession } from '../api/session.ts';
import type { Column } from '../ui/data-table.tsx';
import { DialogButton } from '../ui/form-dialog.tsx';
import { lazyPart } from '../ui/lazy-part.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { Page } from '../ui/page.tsx';
import { ResourceTable } from '../ui/resource-table.tsx';
import { AddressSearch } from '../ui/search-field.tsx';
import { EmptyState } from '../ui/states.tsx';
import { ItemName, PageLink } from '../ui/text.tsx';
import type { ApiKey } from './api-key.tsx';
import { useKeyColumns } from './key-columns.tsx';
import { KeySecret } from './key-secret.tsx';
import { useKeyMessages } from './messages.ts';

const CreateKeyDialog = lazyPart(() => import('./key-form.tsx'), 'CreateKeyDialog');
const OwnKeysPage = lazyPart(() => import('./own-keys.tsx'), 'OwnKeysPage');
const KeyPolicyDialog = lazyPart(() => import('./key-policy.tsx'), 'KeyPolicyDialog');

/** The keys of the organization for those who may manage them; for others their own. */
export function KeysPage() {
  const { scopes } = useSession();
  return scopes.includes('keys') || scopes.includes('admin') ? <OrganizationKeys /> : <OwnKeysPage />;
}

/** API keys of the organization, newest first. */
function OrganizationKeys() {
  const keys = useKeyMessages();
  const common = useCommonMessages();
  const { organization } = useSession();
  const { q, create: isCreating = false } = useSearch({ from: '/shell/keys' });
  const navigate = useNavigate({ from: '/keys' });
  const [secret, setSecret] = useState<string | null>(null);
  const columns = useColumns();
  const setCreating = (create: boolean) =>
    void navigate({ search: (search) => ({ ...search, create: create || undefined }), replace: true });
  const create = <Button onClick={() => setCreating(true)}>{keys.create}</Button>;
  const actions = (
    <Group gap="xs" wrap="nowrap">
      <DialogButton label={keys.policy} variant="default">
        {(close) => <KeyPolicyDialog onClose={close} />}
      </DialogButton>
      {create}
    </Group>
  );
  return (
    <Page title={keys.title} intro={keys.intro} action={actions}>
      <AddressSearch label={`${common.search}: ${keys.title}`} />
      <ResourceTable<ApiKey>
        label={keys.title}
        queryKey={['keys', organization.id, q]}
        fetchPage={(page) => {
          const query = { ...page, order: 'desc' as const, organization_id: organization.id, search: q };
          return api.GET('/v1/admin/keys', { params: { query } });
        }}
        empty={q ? <EmptyState text={keys.noMatch} /> : <EmptyState text={keys.empty}>{create}</EmptyState>}
        columns={columns}
      />
      {isCreating && <CreateKeyDialog onClose={() => setCreating(false)} onCreated={({ key }) => setSecret(key)} />}
      <KeySecret secret={secret} onClose={() => setSecret(null)} />
    </Page>
  );
}

function useColumns(): Column<ApiKey>[] {
  const keys = useKeyMessages();
  const { organization } = useSession();
  const members = useQuery({
    queryKey: ['members', organization.id, 'emails'],
    queryFn: () => body(api.GET('/v1/admin/members', { params: { query: { limit: 100 } } })),
  });
  const findEmail = (id: string) => members.data?.data.find((member) => member.id === id)?.email ?? id;
  const [name, ...others] = useKeyColumns((key) => {
    const link = (
      <PageLink to="/keys/$keyId" params={{ keyId: key.id }}>
        {key.name}
      </PageLink>
    );
    return <ItemName name={link} note={<Code>…{key.hint}</Code>} />;
  });
  const owner = {
    heading: keys.owner,
    cell: ({ owner_id: id }: ApiKey) => (id === null ? organization.name : findEmail(id)),
  };
  return name === undefined ? others : [name, owner, ...others];
}
