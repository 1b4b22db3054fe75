import { Alert, Button, Checkbox, Text } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { resetPassword } from '../api/session.ts';
import { PasswordField } from '../ui/fields.tsx';
import { ErrorState } from '../ui/states.tsx';
import { useJoinMessages, useSettingsMessages } from './messages.ts';
import { EntryForm, useProvider } from './sign-in.tsx';
import { takeToken } from './take-token.ts';

const tokenOfPage = takeToken();

/** Sets a new password by a link of an owner or operator. */
export function ResetPage() {
  const join = useJoinMessages();
  const settings = useSettingsMessages();
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const [token] = useState(() => takeToken() ?? tokenOfPage);
  const [password, setPassword] = useState('');
  const [removesIdentities, setRemovesIdentities] = useState(false);
  const provider = useProvider();
  const mutation = useMutation({
    mutationFn: () =>
      resetPassword(queryClient, {
        token: token ?? '',
        new_password: password,
        remove_identities: removesIdentities,
      }),
    onSuccess: () => navigate({ to: '/' }),
  });
  return (
    <EntryForm title={settings.resetTitle} mutation={mutation}>
      {token === null ? (
        <Alert color="orange">{settings.resetMissing}</Alert>
      ) : (
        <>
          <Text c="dimmed" size="sm">
            {settings.resetIntro}
          </Text>
          <PasswordField
            param="new_password"
            label={settings.next}
            description={join.passwordHint}
            autoComplete="new-password"
            required
            minLength={10}
            value={password}
            onChange={(event) => setPassword(event.currentTarget.value)}
          />
          {provider !== null && (
            <Checkbox
              label={settings.removeIdentities}
              description={settings.removeIdentitiesHint}
              checked={removesIdentities}
              onChange={(event) => setRemovesIdentities(event.currentTarget.checked)}
            />
          )}
          {mutation.isError && <ErrorState error={mutation.error} />}
          <Button type="submit" loading={mutation.isPending}>
            {settings.resetSubmit}
          </Button>
        </>
      )}
    </EntryForm>
  );
}
