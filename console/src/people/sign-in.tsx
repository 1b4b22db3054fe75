import { Alert, Button, Code, Divider, Paper, Stack, Text, Title } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, useRouter } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { api, body } from '../api/client.ts';
import type { paths } from '../api/schema.d.ts';
import { signIn as signInWithPassword } from '../api/session.ts';
import { PasswordField, TextField } from '../ui/fields.tsx';
import { fill } from '../ui/language.tsx';
import { PRODUCT, useCommonMessages } from '../ui/messages.ts';
import { useTitle } from '../ui/page.tsx';
import { MutationError } from '../ui/states.tsx';
import { Hint } from '../ui/text.tsx';
import { type FormMutation, ValidatedForm } from '../ui/validated-form.tsx';
import { useSignInMessages } from './messages.ts';

const route = getRouteApi('/sign-in');

/** The path of the console that the sign-in returns to; the start page when a link names another site. */
const ownPath = (path: string | undefined): string =>
  path !== undefined && /^\/([A-Za-z0-9_-][!-[\]-~]*)?$/.test(path) ? path : '/';

/** Sign-in by email and password. */
export function SignInPage() {
  const signIn = useSignInMessages();
  const { from, error, request } = route.useSearch();
  const router = useRouter();
  const queryClient = useQueryClient();
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const mutation = useMutation({
    mutationFn: () => signInWithPassword(queryClient, { email, password }),
    onSuccess: () => router.history.push(ownPath(from)),
  });
  return (
    <EntryForm title={signIn.title} mutation={mutation}>
      {error !== undefined && !mutation.isError && <ProviderError code={error} request={request} />}
      <ProviderButton start={{ return_to: ownPath(from) }} />
      <TextField
        param="email"
        label={signIn.email}
        type="email"
        autoComplete="username"
        required
        value={email}
        onChange={setEmail}
      />
      <PasswordField
        param="password"
        label={signIn.password}
        autoComplete="current-password"
        required
        value={password}
        onChange={setPassword}
      />
      <MutationError mutation={mutation} />
      <Button type="submit" loading={mutation.isPending}>
        {signIn.submit}
      </Button>
      <Hint>{signIn.noAccount}</Hint>
    </EntryForm>
  );
}

/** A sign-in through the issuer: the path to return to, and an invitation to accept or a user to connect. */
type ProviderStart = NonNullable<paths['/v1/session/oidc']['post']['requestBody']>['content']['application/json'];

/** The issuer of the instance; null without one. */
export function useProvider(): { name: string } | null {
  const query = useQuery({
    queryKey: ['sign-in-options'],
    queryFn: () => body(api.GET('/v1/session/options')),
    staleTime: Number.POSITIVE_INFINITY,
  });
  return query.data?.oidc ?? null;
}

/** Opens the issuer, which returns to the console. */
export async function startAtProvider(start: ProviderStart): Promise<void> {
  const { url } = await body(api.POST('/v1/session/oidc', { body: start }));
  location.assign(url);
}

/** `startAtProvider` as a mutation. */
export const useProviderStart = (start: ProviderStart) => useMutation({ mutationFn: () => startAtProvider(start) });

/** A button that continues at the issuer; nothing on an instance without one. */
export function ProviderButton({ start }: { start: ProviderStart }) {
  const signIn = useSignInMessages();
  const provider = useProvider();
  const mutation = useProviderStart(start);
  if (provider === null) return null;
  return (
    <>
      <MutationError mutation={mutation} />
      <Button variant="default" loading={mutation.isPending} onClick={() => mutation.mutate()}>
        {fill(signIn.continueWith, { name: provider.name })}
      </Button>
      <Divider label={signIn.or} />
    </>
  );
}

/** Why the sign-in through the issuer failed. */
export function ProviderError({ code, request }: { code: string; request: string | undefined }) {
  const signIn = useSignInMessages();
  const common = useCommonMessages();
  const errors: Readonly<Record<string, string>> = signIn.errors;
  return (
    <Alert color="red" role="alert" title={errors[code] ?? signIn.errors.failed}>
      {request !== undefined && (
        <Text size="sm">
          {common.requestId} <Code>{request}</Code>
        </Text>
      )}
    </Alert>
  );
}

interface EntryFormProps {
  title: string;
  mutation: FormMutation;
  children: ReactNode;
}

/** The form of a page before the sign-in. */
export function EntryForm({ title, mutation, children }: EntryFormProps) {
  useTitle(title);
  return (
    <main style={{ minHeight: '100vh', display: 'grid', placeItems: 'center', padding: 16 }}>
      <Paper withBorder p="xl" w="100%" maw={420}>
        <ValidatedForm mutation={mutation}>
          <Stack>
            <img src="/favicon.svg" width={36} height={36} alt={PRODUCT} />
            <Title order={1} size="h3">
              {title}
            </Title>
            {children}
          </Stack>
        </ValidatedForm>
      </Paper>
    </main>
  );
}
