import { Button, Code } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../api/client.ts';
import { useSession } from '../api/session.ts';
import type { Column } from '../ui/data-table.tsx';
import { useFormat } from '../ui/format.ts';
import { useCommonMessages } from '../ui/messages.ts';
import { Page } from '../ui/page.tsx';
import { ResourceTable } from '../ui/resource-table.tsx';
import { AddressSearch } from '../ui/search-field.tsx';
import { EmptyState } from '../ui/states.tsx';
import { ItemName, PageLink } from '../ui/text.tsx';
import { type ApiKey, KeyStatus, ScopeBadges } from './api-key.tsx';
import { CreateKeyDialog } from './key-form.tsx';
import { KeySecret } from './key-secret.tsx';
import { useKeyMessages } from './messages.ts';

/** API keys of the organization, newest first. */
export function KeysPage() {
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
  return (
    <Page title={keys.title} intro={keys.intro} action={create}>
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
      {isCreating && <CreateKeyDialog onClose={() => setCreating(false)} onCreated={setSecret} />}
      <KeySecret secret={secret} onClose={() => setSecret(null)} />
    </Page>
  );
}

function useColumns(): Column<ApiKey>[] {
  const keys = useKeyMessages();
  const common = useCommonMessages();
  const format = useFormat();
  return [
    {
      heading: common.name,
      cell: (key) => {
        const link = (
          <PageLink to="/keys/$keyId" params={{ keyId: key.id }}>
            {key.name}
          </PageLink>
        );
        return <ItemName name={link} note={<Code>…{key.hint}</Code>} />;
      },
    },
    { heading: common.status, cell: (key) => <KeyStatus apiKey={key} /> },
    { heading: keys.scopes, cell: (key) => <ScopeBadges scopes={key.scopes} /> },
    {
      heading: keys.lastUsed,
      cell: (key) => (key.last_used_at === null ? common.never : format.time(key.last_used_at)),
    },
    {
      heading: keys.expiresAt,
      cell: (key) => (key.expires_at === null ? common.never : format.time(key.expires_at)),
    },
  ];
}
