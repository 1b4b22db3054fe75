import { Alert, Button, PasswordInput, Select, Stack, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { api, body } from '../api/client.ts';
import { useSession } from '../api/session.ts';
import { Page } from '../components/page.tsx';
import { ErrorState } from '../components/states.tsx';
import { CATALOGUES, type Language, useLanguage, useMessages } from '../messages/index.tsx';

/** Settings of the signed-in user. */
export function SettingsPage() {
  const { settings, join } = useMessages();
  const { user } = useSession();
  const { language, setLanguage } = useLanguage();
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
  return (
    <Page title={settings.title}>
      <Stack maw={420}>
        <Select
          label={settings.languageTitle}
          allowDeselect={false}
          data={Object.entries(CATALOGUES).map(([value, { language: label }]) => ({ value, label }))}
          value={language}
          onChange={(value) => value !== null && setLanguage(value as Language)}
        />
        <Title order={2} size="h4" mt="md">
          {settings.password}
        </Title>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            mutation.mutate();
          }}
        >
          <Stack>
            <input type="email" autoComplete="username" value={user.email} readOnly hidden />
            <PasswordInput
              label={settings.current}
              autoComplete="current-password"
              required
              value={current}
              onChange={(event) => setCurrent(event.currentTarget.value)}
            />
            <PasswordInput
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
        </form>
      </Stack>
    </Page>
  );
}
