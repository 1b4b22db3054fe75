import { Alert, Button, Group, Select, Stack, Text, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { api, body } from '../api/client.ts';
import { useSession } from '../api/session.ts';
import { PasswordField } from '../components/fields.tsx';
import { Page } from '../components/page.tsx';
import { ErrorState } from '../components/states.tsx';
import { ValidatedForm } from '../components/validated-form.tsx';
import { fill, LANGUAGES, type Language, useLanguage, useMessages } from '../messages/index.tsx';
import { ProviderError, useProvider, useProviderStart } from './sign-in.tsx';

const route = getRouteApi('/shell/settings');

/** Settings of the signed-in user. */
export function SettingsPage() {
  const { settings } = useMessages();
  const { language, setLanguage } = useLanguage();
  return (
    <Page title={settings.title}>
      <Stack maw={420} gap="xl">
        <Select
          label={settings.languageTitle}
          allowDeselect={false}
          data={Object.entries(LANGUAGES).map(([value, label]) => ({ value, label }))}
          value={language}
          onChange={(value) => value !== null && void setLanguage(value as Language)}
        />
        <ProviderSection />
        <PasswordSection />
      </Stack>
    </Page>
  );
}

function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Stack component="section">
      <Title order={2} size="h4">
        {title}
      </Title>
      {children}
    </Stack>
  );
}

/** Whether the account is connected with the issuer, and how to connect it; nothing on an instance without one. */
function ProviderSection() {
  const { settings } = useMessages();
  const { user } = useSession();
  const { error, request } = route.useSearch();
  const provider = useProvider();
  const mutation = useProviderStart({ link: true, return_to: '/settings' });
  if (provider === null) return null;
  return (
    <Section title={provider.name}>
      {error !== undefined && <ProviderError code={error} request={request} />}
      {mutation.isError && <ErrorState error={mutation.error} />}
      <Text>{fill(user.is_linked ? settings.connected : settings.notConnected, { name: provider.name })}</Text>
      {!user.is_linked && (
        <Group>
          <Button variant="default" loading={mutation.isPending} onClick={() => mutation.mutate()}>
            {settings.connect}
          </Button>
        </Group>
      )}
    </Section>
  );
}

/** Change of the password. Users without one sign in through the issuer. */
function PasswordSection() {
  const { settings, join } = useMessages();
  const { user } = useSession();
  const [current, setCurrent] = useState('');
  const [next, setNext] = useState('');
  const mutation = useMutation({
    mutationFn: () =>
      body(api.POST('/v1/session/password', { body: { current_password: current, new_password: next } })),
    onSuccess: () => {
      setCurrent('');
      setNext('');
    },
  });
  if (!user.has_password) return null;
  return (
    <Section title={settings.password}>
      <ValidatedForm mutation={mutation}>
        <Stack>
          <input type="email" autoComplete="username" value={user.email} readOnly hidden />
          <PasswordField
            param="current_password"
            label={settings.current}
            autoComplete="current-password"
            required
            value={current}
            onChange={(event) => setCurrent(event.currentTarget.value)}
          />
          <PasswordField
            param="new_password"
            label={settings.next}
            description={join.passwordHint}
            autoComplete="new-password"
            required
            minLength={10}
            value={next}
            onChange={(event) => setNext(event.currentTarget.value)}
          />
          {mutation.isError && <ErrorState error={mutation.error} />}
          {mutation.isSuccess && <Alert color="teal">{settings.changed}</Alert>}
          <Button type="submit" loading={mutation.isPending}>
            {settings.password}
          </Button>
        </Stack>
      </ValidatedForm>
    </Section>
  );
}
