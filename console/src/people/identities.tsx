import { Button, Group, Stack, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { api, body } from '../api/client.ts';
import { sessionQuery, useSession } from '../api/session.ts';
import { ConfirmButton } from '../ui/confirm.tsx';
import { PasswordField } from '../ui/fields.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { fill } from '../ui/language.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { Section } from '../ui/page.tsx';
import { type ItemOf, ResourceTable } from '../ui/resource-table.tsx';
import { ErrorState } from '../ui/states.tsx';
import { useSettingsMessages } from './messages.ts';
import { SESSIONS_KEY } from './sessions.tsx';
import { ProviderError, startAtProvider, useProvider, useProviderStart } from './sign-in.tsx';

const route = getRouteApi('/shell/settings');
const LINK = { link: true, return_to: '/settings' };

const fetchIdentities = (after: string | undefined) =>
  body(api.GET('/v1/session/identities', { params: { query: { after, limit: 50 } } }));
type Identity = ItemOf<typeof fetchIdentities>;

/** The persons of issuers that sign in as the user, and how to link another one; nothing on an instance without an issuer. */
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
  const queryClient = useQueryClient();
  const { user } = useSession();
  return (
    <ResourceTable<Identity>
      label={settings.identities}
      queryKey={['identities', user.id]}
      fetchPage={fetchIdentities}
      rowKey={({ id }) => id}
      empty={common.none}
      columns={[
        { heading: settings.issuer, cell: ({ issuer }) => issuer },
        {
          heading: settings.subject,
          cell: ({ subject }) => <Text style={{ overflowWrap: 'anywhere' }}>{subject}</Text>,
        },
        { heading: common.created, cell: ({ created_at: time }) => format.time(time) },
        {
          heading: common.actions,
          cell: ({ id, subject }) => (
            <ConfirmButton
              label={settings.removeIdentity}
              title={`${settings.removeIdentity}: ${subject}`}
              text={settings.removeIdentityText}
              action={async () => {
                const params = { path: { identity_id: id } };
                await api.DELETE('/v1/session/identities/{identity_id}', { params });
                for (const queryKey of [['identities'], SESSIONS_KEY, sessionQuery.queryKey]) {
                  await queryClient.invalidateQueries({ queryKey });
                }
              }}
            />
          ),
        },
      ]}
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
      {mutation.isError && <ErrorState error={mutation.error} />}
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
        onChange={(event) => setPassword(event.currentTarget.value)}
      />
    </FormDialog>
  );
}
