import { Button, Code } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { api, body } from '../api/client.ts';
import { useMayWrite, useSession } from '../api/session.ts';
import { ConfirmButton } from '../ui/confirm.tsx';
import { DataTable } from '../ui/data-table.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { fill } from '../ui/language.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { Page } from '../ui/page.tsx';
import { EmptyState, QueryData } from '../ui/states.tsx';
import { Hint, ItemName } from '../ui/text.tsx';
import type { ApiKey } from './api-key.tsx';
import { useKeyColumns } from './key-columns.tsx';
import { type CreateKeyDialogProps, KeyFormFields } from './key-form.tsx';
import { toPolicyFields, toProperties } from './key-properties.ts';
import { KeySecret } from './key-secret.tsx';
import { useKeyMessages } from './messages.ts';
import { useKeyPolicy } from './use-key-policy.ts';

/** The keys that a person without the right to manage all keys has made. */
export function OwnKeysPage() {
  const keys = useKeyMessages();
  const { organization } = useSession();
  const mayWrite = useMayWrite();
  const policy = useKeyPolicy();
  const { create: isCreating = false } = useSearch({ from: '/shell/keys' });
  const navigate = useNavigate({ from: '/keys' });
  const [secret, setSecret] = useState<string | null>(null);
  const query = useQuery({
    queryKey: ['keys', organization.id, 'own'],
    queryFn: () => body(api.GET('/v1/own-keys')),
  });
  const setCreating = (create: boolean) =>
    void navigate({ search: (search) => ({ ...search, create: create || undefined }), replace: true });
  const mayCreate = mayWrite && policy.data?.enabled === true;
  const create = mayCreate ? <Button onClick={() => setCreating(true)}>{keys.create}</Button> : undefined;
  return (
    <Page title={keys.ownTitle} intro={keys.intro} action={create}>
      <QueryData query={policy}>
        {({ enabled, max_keys: max }) => <Hint>{enabled ? fill(keys.ownHint, { max }) : keys.ownDisabled}</Hint>}
      </QueryData>
      <QueryData query={query}>
        {({ data }) =>
          data.length === 0 ? <EmptyState text={keys.empty}>{create}</EmptyState> : <OwnKeyTable items={data} />
        }
      </QueryData>
      {isCreating && mayCreate && (
        <CreateOwnKeyDialog onClose={() => setCreating(false)} onCreated={({ key }) => setSecret(key)} />
      )}
      <KeySecret secret={secret} onClose={() => setSecret(null)} />
    </Page>
  );
}

function OwnKeyTable({ items }: { items: readonly ApiKey[] }) {
  const keys = useKeyMessages();
  const columns = useKeyColumns(({ name, hint }) => <ItemName name={name} note={<Code>…{hint}</Code>} />);
  return (
    <DataTable<ApiKey>
      label={keys.ownTitle}
      items={items}
      columns={columns}
      actions={({ id, name, revoked_at: revokedAt }) =>
        revokedAt === null && (
          <ConfirmButton
            label={keys.revoke}
            name={name}
            text={keys.revokeText}
            action={() => api.POST('/v1/own-keys/{key_id}/revoke', { params: { path: { key_id: id } } })}
            refreshes={['keys']}
          />
        )
      }
    />
  );
}

/** Dialog that creates a personal key within the limits of the organization. */
export function CreateOwnKeyDialog({ onClose, onCreated }: CreateKeyDialogProps) {
  const keys = useKeyMessages();
  const common = useCommonMessages();
  const policy = useKeyPolicy();
  const [before] = useState(() => toPolicyFields(policy.data));
  const [fields, setFields] = useState(before);
  const submit = async () => onCreated(await body(api.POST('/v1/own-keys', { body: toProperties(fields, before) })));
  const dialog = { title: keys.createTitle, onClose, submit, refreshes: ['keys'] };
  return (
    <FormDialog {...dialog} submitLabel={common.create} size="lg">
      <Hint>{keys.withinPolicy}</Hint>
      <KeyFormFields fields={fields} onChange={setFields} isOwn />
    </FormDialog>
  );
}
