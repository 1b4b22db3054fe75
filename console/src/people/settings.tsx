import { Stack } from '@mantine/core';
import { useState } from 'react';
import { api, body } from '../api/client.ts';
import { useRefresh } from '../api/refresh.ts';
import { sessionQuery, useSession } from '../api/session.ts';
import { CheckboxField, ChoiceField, NewPasswordField, PasswordField } from '../ui/fields.tsx';
import { LANGUAGES, type Language, useLanguage } from '../ui/language.tsx';
import { Page, Section } from '../ui/page.tsx';
import { SettingsForm } from '../ui/settings-form.tsx';
import { ChatRetentionSection } from './chat-retention.tsx';
import { IdentitiesSection } from './identities.tsx';
import { useSettingsMessages } from './messages.ts';
import { RecordingSection } from './recording.tsx';
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
        {organization.role === 'owner' && <RecordingSection />}
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

/** Change of the password. Users without one sign in through the issuer. */
function PasswordSection() {
  const settings = useSettingsMessages();
  const { user } = useSession();
  const [fields, setFields] = useState(NO_PASSWORDS);
  const set = (changes: Partial<PasswordFields>) => setFields((before) => ({ ...before, ...changes }));
  const refresh = useRefresh('identities', 'own-sessions');
  if (!user.has_password) return null;
  const { current, next, removesIdentities } = fields;
  /** Changes the password, which ends other sessions and may remove identities. */
  const submit = async () => {
    const change = { current_password: current, new_password: next, remove_identities: removesIdentities };
    const session = await body(api.POST('/v1/session/password', { body: change }));
    setFields(NO_PASSWORDS);
    await refresh();
    return session;
  };
  return (
    <Section title={settings.password}>
      <SettingsForm
        queryKey={sessionQuery.queryKey}
        submit={submit}
        submitLabel={settings.password}
        doneText={settings.changed}
      >
        <input type="email" autoComplete="username" value={user.email} readOnly hidden />
        <PasswordField
          param="current_password"
          label={settings.current}
          autoComplete="current-password"
          required
          value={current}
          onChange={(password) => set({ current: password })}
        />
        <NewPasswordField
          param="new_password"
          label={settings.next}
          value={next}
          onChange={(password) => set({ next: password })}
        />
        {user.is_linked && (
          <CheckboxField
            label={settings.removeIdentities}
            description={settings.removeIdentitiesHint}
            checked={removesIdentities}
            onChange={(isRemoved) => set({ removesIdentities: isRemoved })}
          />
        )}
      </SettingsForm>
    </Section>
  );
}
