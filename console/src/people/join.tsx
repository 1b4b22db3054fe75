import { Alert, Button } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { acceptInvitation } from '../api/session.ts';
import { USER_NAME } from '../api/values.ts';
import { NewPasswordField, TextField } from '../ui/fields.tsx';
import { MutationError } from '../ui/states.tsx';
import { Hint } from '../ui/text.tsx';
import { useJoinMessages, useSignInMessages } from './messages.ts';
import { EntryForm, ProviderButton } from './sign-in.tsx';
import { takeToken } from './take-token.ts';

const pageToken = takeToken();

/** Accepts an invitation: the first account, or another one. */
export function JoinPage() {
  const join = useJoinMessages();
  const signIn = useSignInMessages();
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const [token] = useState(() => takeToken() ?? pageToken);
  const [fields, setFields] = useState({ email: '', name: '', password: '' });
  const set = (field: keyof typeof fields) => (text: string) => setFields({ ...fields, [field]: text });
  const mutation = useMutation({
    mutationFn: () => acceptInvitation(queryClient, { token: token ?? '', ...fields }),
    onSuccess: () => navigate({ to: '/' }),
  });
  return (
    <EntryForm title={join.title} mutation={mutation}>
      {token === null ? (
        <Alert color="orange">{join.missing}</Alert>
      ) : (
        <>
          <Hint>{join.intro}</Hint>
          <ProviderButton start={{ invitation: token }} />
          <TextField
            param="email"
            label={signIn.email}
            type="email"
            autoComplete="username"
            required
            value={fields.email}
            onChange={set('email')}
          />
          <TextField
            param="name"
            label={join.name}
            autoComplete="name"
            required
            {...USER_NAME}
            value={fields.name}
            onChange={set('name')}
          />
          <NewPasswordField
            param="password"
            label={signIn.password}
            value={fields.password}
            onChange={set('password')}
          />
          <MutationError mutation={mutation} />
          <Button type="submit" loading={mutation.isPending}>
            {join.submit}
          </Button>
        </>
      )}
    </EntryForm>
  );
}
