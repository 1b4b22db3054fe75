import { Anchor, Button, Code, Group, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { api, body } from '../api/client.ts';
import { useSession } from '../api/session.ts';
import { useFormat } from '../ui/format.ts';
import { useCommonMessages } from '../ui/messages.ts';
import { Page } from '../ui/page.tsx';
import { type Column, ResourceTable } from '../ui/resource-table.tsx';
import { SearchField } from '../ui/search-field.tsx';
import { EmptyState } from '../ui/states.tsx';
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
  const queryClient = useQueryClient();
  const [secret, setSecret] = useState<string | null>(null);
  const columns = useColumns();
  const setCreating = (create: boolean) =>
    void navigate({ search: (search) => ({ ...search, create: create || undefined }), replace: true });
  const create = <Button onClick={() => setCreating(true)}>{keys.create}</Button>;
  return (
    <Page title={keys.title} intro={keys.intro} action={create}>
      <Group>
        <SearchField
          label={`${common.search}: ${keys.title}`}
          value={q ?? ''}
          onSearch={(text) => void navigate({ search: { q: text === '' ? undefined : text }, replace: true })}
        />
      </Group>
      <ResourceTable<ApiKey>
        label={keys.title}
        queryKey={['keys', organization.id, q]}
        fetchPage={(after) => {
          const query = { after, limit: 25, order: 'desc' as const, organization_id: organization.id };
          return body(api.GET('/v1/admin/keys', { params: { query: { ...query, ...(q && { search: q }) } } }));
        }}
        rowKey={(key) => key.id}
        empty={q ? <EmptyState text={keys.noMatch} /> : <EmptyState text={keys.empty}>{create}</EmptyState>}
        columns={columns}
      />
      {isCreating && (
        <CreateKeyDialog
          onClose={() => setCreating(false)}
          onCreated={(key) => {
            setSecret(key);
            void queryClient.invalidateQueries({ queryKey: ['keys', organization.id] });
          }}
        />
      )}
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
      cell: (key) => (
        <div>
          <Anchor component={Link} to="/keys/$keyId" params={{ keyId: key.id } as never} fw={500}>
            {key.name}
          </Anchor>
          <Text size="xs">
            <Code>…{key.hint}</Code>
          </Text>
        </div>
      ),
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
