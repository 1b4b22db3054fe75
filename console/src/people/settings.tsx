import { Alert, Button, Stack } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, body } from '../api/client.ts';
import { useRefresh } from '../api/refresh.ts';
import { sessionQuery, useSession } from '../api/session.ts';
import { CheckboxField, ChoiceField, NewPasswordField, PasswordField } from '../ui/fields.tsx';
import { LANGUAGES, type Language, useLanguage } from '../ui/language.tsx';
import { Page, Section } from '../ui/page.tsx';
import { MutationError } from '../ui/states.tsx';
import { ValidatedForm } from '../ui/validated-form.tsx';
import { ChatRetentionSection } from './chat-retention.tsx';
import { IdentitiesSection } from './identities.tsx';
import { useSettingsMessages } from './messages.ts';
import { SessionsSection } from './sessions.tsx';

/** Settings of the signed-in user. */
export function SettingsPage() {
  const settings = useSettingsMessages();
  const { language, setLanguage } = useLanguage();
  const { organization } = useSession();
  return (
    <Page title={settings.title}>
      <Stack gap="xl">
        <ChoiceField
          maw={420}
          label={settings.languageTitle}
          values={Object.keys(LANGUAGES) as Language[]}
          labels={LANGUAGES}
          value={language}
          onChange={setLanguage}
        />
        <IdentitiesSection />
        <PasswordSection />
        <SessionsSection />
        {organization.role === 'owner' && <ChatRetentionSection />}
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
  const refresh = useRefresh('identities', 'own-sessions');
  return useMutation({
    mutationFn: () => {
      const passwords = { current_password: current, new_password: next };
      return body(api.POST('/v1/session/password', { body: { ...passwords, remove_identities: removesIdentities } }));
    },
    onSuccess: async (session) => {
      onChanged();
      queryClient.setQueryData(sessionQuery.queryKey, session);
      await refresh();
    },
  });
}

/** Change of the password. Users without one sign in through the issuer. */
function PasswordSection() {
  const settings = useSettingsMessages();
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
            onChange={(current) => set({ current })}
          />
          <NewPasswordField
            param="new_password"
            label={settings.next}
            value={fields.next}
            onChange={(next) => set({ next })}
          />
          {user.is_linked && (
            <CheckboxField
              label={settings.removeIdentities}
              description={settings.removeIdentitiesHint}
              checked={fields.removesIdentities}
              onChange={(removesIdentities) => set({ removesIdentities })}
            />
          )}
          <MutationError mutation={mutation} />
          {mutation.isSuccess && <Alert color="teal">{settings.changed}</Alert>}
          <Button type="submit" loading={mutation.isPending}>
            {settings.password}
          </Button>
        </Stack>
      </ValidatedForm>
    </Section>
  );
}
