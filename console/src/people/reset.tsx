import { Alert, Button } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { resetPassword } from '../api/session.ts';
import { CheckboxField, NewPasswordField } from '../ui/fields.tsx';
import { MutationError } from '../ui/states.tsx';
import { Hint } from '../ui/text.tsx';
import { useSettingsMessages } from './messages.ts';
import { EntryForm, useProvider } from './sign-in.tsx';
import { takeToken } from './take-token.ts';

const pageToken = takeToken();

/** Sets a new password by a link of an owner or operator. */
export function ResetPage() {
  const settings = useSettingsMessages();
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const [token] = useState(() => takeToken() ?? pageToken);
  const [password, setPassword] = useState('');
  const [removesIdentities, setRemovesIdentities] = useState(false);
  const provider = useProvider();
  const mutation = useMutation({
    mutationFn: () => {
      const request = { token: token ?? '', new_password: password, remove_identities: removesIdentities };
      return resetPassword(queryClient, request);
    },
    onSuccess: () => navigate({ to: '/' }),
  });
  return (
    <EntryForm title={settings.resetTitle} mutation={mutation}>
      {token === null ? (
        <Alert color="orange">{settings.resetMissing}</Alert>
      ) : (
        <>
          <Hint>{settings.resetIntro}</Hint>
          <NewPasswordField param="new_password" label={settings.next} value={password} onChange={setPassword} />
          {provider !== null && (
            <CheckboxField
              label={settings.removeIdentities}
              description={settings.removeIdentitiesHint}
              checked={removesIdentities}
              onChange={setRemovesIdentities}
            />
          )}
          <MutationError mutation={mutation} />
          <Button type="submit" loading={mutation.isPending}>
            {settings.resetSubmit}
          </Button>
        </>
      )}
    </EntryForm>
  );
}
