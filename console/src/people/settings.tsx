import { Alert, Button, Checkbox, Select, Stack } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, body } from '../api/client.ts';
import { sessionQuery, useSession } from '../api/session.ts';
import { PasswordField } from '../ui/fields.tsx';
import { LANGUAGES, type Language, useLanguage } from '../ui/language.tsx';
import { Page, Section } from '../ui/page.tsx';
import { ErrorState } from '../ui/states.tsx';
import { ValidatedForm } from '../ui/validated-form.tsx';
import { IdentitiesSection } from './identities.tsx';
import { useJoinMessages, useSettingsMessages } from './messages.ts';
import { SESSIONS_KEY, SessionsSection } from './sessions.tsx';

/** Settings of the signed-in user. */
export function SettingsPage() {
  const settings = useSettingsMessages();
  const { language, setLanguage } = useLanguage();
  return (
    <Page title={settings.title}>
      <Stack gap="xl">
        <Select
          maw={420}
          label={settings.languageTitle}
          allowDeselect={false}
          data={Object.entries(LANGUAGES).map(([value, label]) => ({ value, label }))}
          value={language}
          onChange={(value) => value !== null && void setLanguage(value as Language)}
        />
        <IdentitiesSection />
        <PasswordSection />
        <SessionsSection />
      </Stack>
    </Page>
  );
}

interface PasswordFields {
  current: string;
  next: string;
  removesIdentities: boolean;
}

const NO_PASSWORDS: PasswordFields = { current: '', next: '', removesIdentities: false };

/** Returns the mutation that changes the password. A change ends other sessions, and may remove identities. */
function useChangePassword({ current, next, removesIdentities }: PasswordFields, onChanged: () => void) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: () => {
      const passwords = { current_password: current, new_password: next };
      return body(api.POST('/v1/session/password', { body: { ...passwords, remove_identities: removesIdentities } }));
    },
    onSuccess: async (session) => {
      onChanged();
      queryClient.setQueryData(sessionQuery.queryKey, session);
      await queryClient.invalidateQueries({ queryKey: ['identities'] });
      await queryClient.invalidateQueries({ queryKey: SESSIONS_KEY });
    },
  });
}

/** Change of the password. Users without one sign in through the issuer. */
function PasswordSection() {
  const settings = useSettingsMessages();
  const join = useJoinMessages();
  const { user } = useSession();
  const [fields, setFields] = useState(NO_PASSWORDS);
  const set = (changes: Partial<PasswordFields>) => setFields((before) => ({ ...before, ...changes }));
  const mutation = useChangePassword(fields, () => setFields(NO_PASSWORDS));
  if (!user.has_password) return null;
  return (
    <Section title={settings.password}>
      <ValidatedForm mutation={mutation}>
        <Stack maw={420}>
          <input type="email" autoComplete="username" value={user.email} readOnly hidden />
          <PasswordField
            param="current_password"
            label={settings.current}
            autoComplete="current-password"
            required
            value={fields.current}
            onChange={(event) => set({ current: event.currentTarget.value })}
          />
          <PasswordField
            param="new_password"
            label={settings.next}
            description={join.passwordHint}
            autoComplete="new-password"
            required
            minLength={10}
            value={fields.next}
            onChange={(event) => set({ next: event.currentTarget.value })}
          />
          {user.is_linked && (
            <Checkbox
              label={settings.removeIdentities}
              description={settings.removeIdentitiesHint}
              checked={fields.removesIdentities}
              onChange={(event) => set({ removesIdentities: event.currentTarget.checked })}
            />
          )}
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
