import { Button, Group, Stack, Text } from '@mantine/core';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../api/client.ts';
import { useSession } from '../api/session.ts';
import type { Schema } from '../api/types.ts';
import { ConfirmButton } from '../ui/confirm.tsx';
import { PasswordField } from '../ui/fields.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { fill } from '../ui/language.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { Section } from '../ui/page.tsx';
import { ResourceTable } from '../ui/resource-table.tsx';
import { MutationError } from '../ui/states.tsx';
import { useSettingsMessages } from './messages.ts';
import { ProviderError, startAtProvider, useProvider, useProviderStart } from './sign-in.tsx';

const route = getRouteApi('/shell/settings');
const LINK = { link: true, return_to: '/settings' };

/**
 * The persons of issuers that sign in as the user, and how to link another one; nothing on an instance without an
 * issuer.
 */
export function IdentitiesSection() {
  const settings = useSettingsMessages();
  const { user } = useSession();
  const { error, request } = route.useSearch();
  const provider = useProvider();
  if (provider === null && !user.is_linked) return null;
  return (
    <Section title={provider?.name ?? settings.identities}>
      {error !== undefined && <ProviderError code={error} request={request} />}
      {provider !== null && (
        <Text>{fill(user.is_linked ? settings.connected : settings.notConnected, { name: provider.name })}</Text>
      )}
      {user.is_linked ? <IdentityTable /> : <ConnectButton />}
    </Section>
  );
}

function IdentityTable() {
  const settings = useSettingsMessages();
  const common = useCommonMessages();
  const format = useFormat();
  const { user } = useSession();
  return (
    <ResourceTable<Schema<'Identity'>>
      label={settings.identities}
      queryKey={['identities', user.id]}
      fetchPage={(query) => api.GET('/v1/session/identities', { params: { query } })}
      empty={common.none}
      columns={[
        { heading: settings.issuer, cell: ({ issuer }) => issuer },
        { heading: settings.subject, cell: ({ subject }) => <Text className="breakable">{subject}</Text> },
        { heading: common.created, cell: ({ created_at: time }) => format.time(time) },
      ]}
      actions={({ id, subject }) => (
        <ConfirmButton
          label={settings.removeIdentity}
          name={subject}
          text={settings.removeIdentityText}
          action={() => api.DELETE('/v1/session/identities/{identity_id}', { params: { path: { identity_id: id } } })}
          refreshes={['identities', 'own-sessions', 'session']}
        />
      )}
    />
  );
}

/** Starts the linking. Users with a password enter it again. */
function ConnectButton() {
  const settings = useSettingsMessages();
  const { user } = useSession();
  const [isOpen, setOpen] = useState(false);
  const mutation = useProviderStart(LINK);
  return (
    <Stack>
      <MutationError mutation={mutation} />
      <Group>
        <Button
          variant="default"
          loading={mutation.isPending}
          onClick={() => (user.has_password ? setOpen(true) : mutation.mutate())}
        >
          {settings.connect}
        </Button>
      </Group>
      {isOpen && <ConnectDialog onClose={() => setOpen(false)} />}
    </Stack>
  );
}

function ConnectDialog({ onClose }: { onClose(): void }) {
  const settings = useSettingsMessages();
  const { user } = useSession();
  const [password, setPassword] = useState('');
  return (
    <FormDialog
      title={settings.connect}
      submitLabel={settings.connect}
      onClose={onClose}
      submit={() => startAtProvider({ ...LINK, password })}
    >
      <Text>{settings.connectText}</Text>
      <input type="email" autoComplete="username" value={user.email} readOnly hidden />
      <PasswordField
        param="password"
        label={settings.current}
        autoComplete="current-password"
        data-autofocus
        required
        value={password}
        onChange={setPassword}
      />
    </FormDialog>
  );
}
