import { Button, Paper, PasswordInput, Stack, Text, TextInput, Title } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { api, body } from '../api/client.ts';
import { sessionQuery } from '../api/session.ts';
import { ErrorState } from '../components/states.tsx';
import { useMessages } from '../messages/index.tsx';

const route = getRouteApi('/sign-in');

/** The path of the console that the sign-in returns to; the start page when a link names another site. */
const ownPath = (path: string | undefined): string => (path !== undefined && /^\/(?![/\\])/.test(path) ? path : '/');

/** Sign-in by email and password. */
export function SignInPage() {
  const { signIn } = useMessages();
  const { from } = route.useSearch();
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  useEffect(() => {
    document.title = `${signIn.title} · Quire`;
  }, [signIn.title]);
  const mutation = useMutation({
    mutationFn: () => body(api.POST('/v1/session', { body: { email, password } })),
    onSuccess: async (session) => {
      queryClient.setQueryData(sessionQuery.queryKey, session);
      await navigate({ to: ownPath(from) });
    },
  });
  return (
    <EntryForm title={signIn.title} onSubmit={() => mutation.mutate()}>
      <TextInput
        label={signIn.email}
        type="email"
        autoComplete="username"
        required
        value={email}
        onChange={(event) => setEmail(event.currentTarget.value)}
      />
      <PasswordInput
        label={signIn.password}
        autoComplete="current-password"
        required
        value={password}
        onChange={(event) => setPassword(event.currentTarget.value)}
      />
      {mutation.isError && <ErrorState error={mutation.error} />}
      <Button type="submit" loading={mutation.isPending}>
        {signIn.submit}
      </Button>
      <Text size="sm" c="dimmed">
        {signIn.noAccount}
      </Text>
    </EntryForm>
  );
}

/** The form of a page before the sign-in. */
export function EntryForm({
  title,
  onSubmit,
  children,
}: {
  title: string;
  onSubmit(): void;
  children: React.ReactNode;
}) {
  return (
    <main style={{ minHeight: '100vh', display: 'grid', placeItems: 'center', padding: 16 }}>
      <Paper withBorder p="xl" w="100%" maw={420}>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            onSubmit();
          }}
        >
          <Stack>
            <img src="/favicon.svg" width={36} height={36} alt="Quire" />
            <Title order={1} size="h3">
              {title}
            </Title>
            {children}
          </Stack>
        </form>
      </Paper>
    </main>
  );
}
