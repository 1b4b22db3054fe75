import { Alert, Anchor, Stack, Title } from '@mantine/core';
import type { QueryClient } from '@tanstack/react-query';
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  Link,
  lazyRouteComponent,
  Outlet,
  redirect,
  useRouter,
} from '@tanstack/react-router';
import { useSyncExternalStore } from 'react';
import { isWaitingForService, loadPage, subscribeToWaiting } from './api/load-page.ts';
import { sessionQuery } from './api/session.ts';
import { parseFileSearch } from './files/search-parameters.ts';
import { parseKnowledgeBaseSearch } from './knowledge-bases/search-parameters.ts';
import { parsePlaygroundSearch } from './playground/search.ts';
import { Shell } from './shell/shell.tsx';
import { PRODUCT, useCommonMessages } from './ui/messages.ts';
import { parseNameSearch } from './ui/name-search.ts';
import { ErrorState, LoadingState } from './ui/states.tsx';
import { type Period, toPeriod } from './usage/summary.ts';
import { parseUsageSearch } from './usage/usage-search.ts';

/** A page that is loaded when it is opened. */
const lazyPage: typeof lazyRouteComponent = (load, name) => lazyRouteComponent(() => loadPage(load), name);

/** The search parameters of these names that are texts. Others are dropped. */
function texts<const Name extends string>(search: Record<string, unknown>, names: readonly Name[]) {
  const found = names.flatMap((name) => (typeof search[name] === 'string' ? [[name, search[name]]] : []));
  return Object.fromEntries(found) as Partial<Record<Name, string>>;
}

/** Search parameters of the guardrails. */
interface GuardrailSearch {
  tab?: 'blocks' | undefined;
  /** Only blocks of this policy. */
  policy?: string | undefined;
  /** Whether the form of a new policy is open. */
  create?: true | undefined;
}

/** A period and a model. */
const parsePeriodSearch = (search: Record<string, unknown>): { period?: Period; model?: string | undefined } => ({
  ...('period' in search && { period: toPeriod(search['period']) }),
  ...texts(search, ['model']),
});

const rootRoute = createRootRouteWithContext<{ queryClient: QueryClient }>()({
  component: Outlet,
  notFoundComponent: NotFound,
});

const signInRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/sign-in',
  validateSearch: (search: Record<string, unknown>) => texts(search, ['from', 'error', 'request']),
  component: lazyPage(() => import('./people/sign-in.tsx'), 'SignInPage'),
});

const joinRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/join',
  component: lazyPage(() => import('./people/join.tsx'), 'JoinPage'),
});

const resetRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/reset',
  component: lazyPage(() => import('./people/reset.tsx'), 'ResetPage'),
});

const shellRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'shell',
  beforeLoad: async ({ context, location }) => {
    const session = await context.queryClient.ensureQueryData({ ...sessionQuery, revalidateIfStale: true });
    if (session === null)
      throw redirect({ to: '/sign-in', search: location.href === '/' ? {} : { from: location.href } });
  },
  component: Shell,
});

const shellPath = { getParentRoute: () => shellRoute } as const;
const pages = [
  createRoute({
    ...shellPath,
    path: '/',
    component: lazyPage(() => import('./start/start.tsx'), 'StartPage'),
  }),
  createRoute({
    ...shellPath,
    path: '/overview',
    validateSearch: parsePeriodSearch,
    component: lazyPage(() => import('./usage/overview.tsx'), 'OverviewPage'),
  }),
  createRoute({
    ...shellPath,
    path: '/playground',
    validateSearch: parsePlaygroundSearch,
    component: lazyPage(() => import('./playground/playground.tsx'), 'PlaygroundPage'),
  }),
  createRoute({
    ...shellPath,
    path: '/keys',
    validateSearch: ({
      q,
      create,
    }: Record<string, unknown>): { q?: string | undefined; create?: true | undefined } => ({
      ...(typeof q === 'string' && q !== '' && { q }),
      ...(create === true && { create }),
    }),
    component: lazyPage(() => import('./keys/keys.tsx'), 'KeysPage'),
  }),
  createRoute({
    ...shellPath,
    path: '/keys/$keyId',
    component: lazyPage(() => import('./keys/key.tsx'), 'KeyPage'),
  }),
  createRoute({
    ...shellPath,
    path: '/members',
    component: lazyPage(() => import('./people/members.tsx'), 'MembersPage'),
  }),
  createRoute({
    ...shellPath,
    path: '/knowledge-bases',
    validateSearch: parseNameSearch,
    component: lazyPage(() => import('./knowledge-bases/knowledge-bases.tsx'), 'KnowledgeBasesPage'),
  }),
  createRoute({
    ...shellPath,
    path: '/knowledge-bases/$kbId',
    validateSearch: parseKnowledgeBaseSearch,
    component: lazyPage(() => import('./knowledge-bases/knowledge-base.tsx'), 'KnowledgeBasePage'),
  }),
  createRoute({
    ...shellPath,
    path: '/knowledge-bases/$kbId/documents/$documentId',
    validateSearch: (search: Record<string, unknown>): { chunk?: string } =>
      typeof search['chunk'] === 'string' ? { chunk: search['chunk'] } : {},
    component: lazyPage(() => import('./knowledge-bases/document.tsx'), 'DocumentPage'),
  }),
  createRoute({
    ...shellPath,
    path: '/files',
    validateSearch: parseFileSearch,
    component: lazyPage(() => import('./files/files.tsx'), 'FilesPage'),
  }),
  createRoute({
    ...shellPath,
    path: '/batches',
    validateSearch: ({ create }: Record<string, unknown>): { create?: true | undefined } =>
      create === true ? { create } : {},
    component: lazyPage(() => import('./batches/batches.tsx'), 'BatchesPage'),
  }),
  createRoute({
    ...shellPath,
    path: '/batches/$batchId',
    validateSearch: ({ show }: Record<string, unknown>): { show?: 'results' | 'errors' } =>
      show === 'results' || show === 'errors' ? { show } : {},
    component: lazyPage(() => import('./batches/batch.tsx'), 'BatchPage'),
  }),
  createRoute({
    ...shellPath,
    path: '/guardrails',
    validateSearch: ({ tab, policy, create }: Record<string, unknown>): GuardrailSearch => ({
      ...(tab === 'blocks' && { tab }),
      ...(typeof policy === 'string' && { policy }),
      ...(create === true && { create }),
    }),
    component: lazyPage(() => import('./guardrails/guardrails.tsx'), 'GuardrailsPage'),
  }),
  createRoute({
    ...shellPath,
    path: '/models',
    validateSearch: (search: Record<string, unknown>) => texts(search, ['q', 'tab']),
    component: lazyPage(() => import('./models/models.tsx'), 'ModelsPage'),
  }),
  createRoute({
    ...shellPath,
    path: '/usage',
    validateSearch: parseUsageSearch,
    component: lazyPage(() => import('./usage/usage.tsx'), 'UsagePage'),
  }),
  createRoute({
    ...shellPath,
    path: '/cache',
    validateSearch: parsePeriodSearch,
    component: lazyPage(() => import('./cache/cache.tsx'), 'CachePage'),
  }),
  createRoute({
    ...shellPath,
    path: '/organizations',
    validateSearch: (search: Record<string, unknown>) => texts(search, ['q']),
    component: lazyPage(() => import('./instance/organizations.tsx'), 'OrganizationsPage'),
  }),
  createRoute({
    ...shellPath,
    path: '/audit',
    validateSearch: (search: Record<string, unknown>) => texts(search, ['action', 'actor', 'resource', 'from', 'to']),
    component: lazyPage(() => import('./instance/audit.tsx'), 'AuditPage'),
  }),
  createRoute({
    ...shellPath,
    path: '/settings/instance',
    validateSearch: (search: Record<string, unknown>): { q?: string } =>
      typeof search['q'] === 'string' ? { q: search['q'] } : {},
    component: lazyPage(() => import('./instance/configuration.tsx'), 'InstanceSettingsPage'),
  }),
  createRoute({
    ...shellPath,
    path: '/settings',
    validateSearch: (search: Record<string, unknown>) => texts(search, ['error', 'request']),
    component: lazyPage(() => import('./people/settings.tsx'), 'SettingsPage'),
  }),
] as const;

const routeTree = rootRoute.addChildren([signInRoute, joinRoute, resetRoute, shellRoute.addChildren(pages)]);

/** Creates the router. Pages are loaded when they are opened. */
export function createConsoleRouter(queryClient: QueryClient) {
  return createRouter({
    routeTree,
    context: { queryClient },
    defaultPreload: 'intent',
    defaultPendingComponent: PendingPage,
    defaultErrorComponent: FailedPage,
  });
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createConsoleRouter>;
  }
}

/** Shown while a page is loaded, and while the service that has it does not answer. */
function PendingPage() {
  const common = useCommonMessages();
  const isWaiting = useSyncExternalStore(subscribeToWaiting, isWaitingForService);
  return isWaiting ? (
    <Alert color="red" role="alert" title={common.unreachable} m="md">
      {common.loadsAgain}
    </Alert>
  ) : (
    <LoadingState />
  );
}

/** A failure outside of a page's own requests, for example of the session. */
function FailedPage({ error }: { error: unknown }) {
  const router = useRouter();
  return (
    <Stack p="xl" maw={720} mx="auto">
      <Title order={1} size="h3">
        {PRODUCT}
      </Title>
      <ErrorState error={error} onRetry={() => void router.invalidate()} />
    </Stack>
  );
}

function NotFound() {
  const common = useCommonMessages();
  return (
    <Stack component="main" align="center" p="xl">
      <Title order={1} size="h3">
        {common.notFound}
      </Title>
      <Anchor component={Link} to="/">
        {common.home}
      </Anchor>
    </Stack>
  );
}
