import { Alert, Button, Text } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { acceptInvitation } from '../api/session.ts';
import { PasswordField, TextField } from '../ui/fields.tsx';
import { ErrorState } from '../ui/states.tsx';
import { useJoinMessages, useSignInMessages } from './messages.ts';
import { EntryForm, ProviderButton } from './sign-in.tsx';
import { takeToken } from './take-token.ts';

const tokenOfPage = takeToken();

/** Accepts an invitation: the first account, or another one. */
export function JoinPage() {
  const join = useJoinMessages();
  const signIn = useSignInMessages();
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const [token] = useState(() => takeToken() ?? tokenOfPage);
  const [fields, setFields] = useState({ email: '', name: '', password: '' });
  const set = (field: keyof typeof fields) => (event: React.ChangeEvent<HTMLInputElement>) =>
    setFields({ ...fields, [field]: event.currentTarget.value });
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
          <Text c="dimmed" size="sm">
            {join.intro}
          </Text>
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
            maxLength={100}
            value={fields.name}
            onChange={set('name')}
          />
          <PasswordField
            param="password"
            label={signIn.password}
            description={join.passwordHint}
            autoComplete="new-password"
            required
            minLength={10}
            value={fields.password}
            onChange={set('password')}
          />
          {mutation.isError && <ErrorState error={mutation.error} />}
          <Button type="submit" loading={mutation.isPending}>
            {join.submit}
          </Button>
        </>
      )}
    </EntryForm>
  );
}
