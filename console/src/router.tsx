import { Alert, Anchor, Stack, Title } from '@mantine/core';
import type { QueryClient } from '@tanstack/react-query';
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  Link,
  lazyRouteComponent,
  Outlet,
  type RouteComponent,
  redirect,
  useRouter,
} from '@tanstack/react-router';
import { useSyncExternalStore } from 'react';
import { isWaitingForService, loadPage, subscribeToWaiting } from './api/load-page.ts';
import { sessionQuery } from './api/session.ts';
import { parseFeedbackSearch } from './evaluations/feedback-search.ts';
import { parseFileSearch } from './files/search-parameters.ts';
import { parseKnowledgeBaseSearch } from './knowledge-bases/search-parameters.ts';
import { parsePlaygroundSearch } from './playground/search.ts';
import { parseRequestSearch } from './requests/request-search.ts';
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
  const values = names.flatMap((name) => (typeof search[name] === 'string' ? [[name, search[name]]] : []));
  return Object.fromEntries(values) as Partial<Record<Name, string>>;
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

type Module = Record<string, RouteComponent>;

/** A page behind the sign-in: its file, the component in it, and the reader of its search parameters. */
const page = <const Path extends string, Name extends string, Search extends object>(
  path: Path,
  load: () => Promise<Record<Name, RouteComponent>>,
  name: Name,
  validateSearch: (search: Record<string, unknown>) => Search,
) => {
  const component = lazyRouteComponent<Module, string>(() => loadPage(load), name);
  return createRoute({ getParentRoute: () => shellRoute, path, component, validateSearch });
};

/** The first page: the chats, and for those who administer the organization or the instance its start page. */
const homeRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/',
  beforeLoad: async ({ context }) => {
    const session = await context.queryClient.ensureQueryData(sessionQuery);
    const administers = session?.organization.role === 'owner' || session?.user.is_operator === true;
    throw redirect({ to: administers ? '/start' : '/chat/{-$chatId}', replace: true } as never);
  },
});

const noSearch = (): Record<never, never> => ({});
const parseCreate = ({ create }: Record<string, unknown>): { create?: true | undefined } =>
  create === true ? { create } : {};

const pages = [
  homeRoute,
  page('/start', () => import('./start/start.tsx'), 'StartPage', noSearch),
  page('/chat/shared/$shareId', () => import('./chat/shared-chat.tsx'), 'SharedChatPage', noSearch),
  page('/chat/{-$chatId}', () => import('./chat/chat-page.tsx'), 'ChatPage', noSearch),
  page('/overview', () => import('./usage/overview.tsx'), 'OverviewPage', parsePeriodSearch),
  page('/playground', () => import('./playground/playground.tsx'), 'PlaygroundPage', parsePlaygroundSearch),
  page(
    '/keys',
    () => import('./keys/keys.tsx'),
    'KeysPage',
    (search) => ({
      ...parseNameSearch(search),
      ...parseCreate(search),
    }),
  ),
  page('/keys/$keyId', () => import('./keys/key.tsx'), 'KeyPage', noSearch),
  page('/members', () => import('./people/members.tsx'), 'MembersPage', noSearch),
  page(
    '/knowledge-bases',
    () => import('./knowledge-bases/knowledge-bases.tsx'),
    'KnowledgeBasesPage',
    parseNameSearch,
  ),
  page(
    '/knowledge-bases/$kbId',
    () => import('./knowledge-bases/knowledge-base.tsx'),
    'KnowledgeBasePage',
    parseKnowledgeBaseSearch,
  ),
  page(
    '/knowledge-bases/$kbId/documents/$documentId',
    () => import('./knowledge-bases/document.tsx'),
    'DocumentPage',
    (search) => texts(search, ['chunk']),
  ),
  page('/files', () => import('./files/files.tsx'), 'FilesPage', parseFileSearch),
  page('/batches', () => import('./batches/batches.tsx'), 'BatchesPage', parseCreate),
  page(
    '/batches/$batchId',
    () => import('./batches/batch.tsx'),
    'BatchPage',
    ({ show }): { show?: 'results' | 'errors' } => (show === 'results' || show === 'errors' ? { show } : {}),
  ),
  page(
    '/guardrails',
    () => import('./guardrails/guardrails.tsx'),
    'GuardrailsPage',
    (search): GuardrailSearch => ({
      ...(search['tab'] === 'blocks' && { tab: 'blocks' }),
      ...texts(search, ['policy']),
      ...parseCreate(search),
    }),
  ),
  page('/presets', () => import('./presets/presets.tsx'), 'PresetsPage', parseCreate),
  page(
    '/prompts',
    () => import('./prompts/prompts.tsx'),
    'PromptsPage',
    (search) => ({ ...parseNameSearch(search), ...texts(search, ['prompt']), ...parseCreate(search) }),
  ),
  page('/mcp-servers', () => import('./mcp-servers/mcp-servers.tsx'), 'McpServersPage', parseCreate),
  page(
    '/models',
    () => import('./models/models.tsx'),
    'ModelsPage',
    (search) => texts(search, ['q', 'tab']),
  ),
  page('/requests', () => import('./requests/requests.tsx'), 'RequestsPage', parseRequestSearch),
  page('/feedback', () => import('./evaluations/feedback-page.tsx'), 'FeedbackPage', parseFeedbackSearch),
  page('/alerts', () => import('./alerts/alerts.tsx'), 'AlertsPage', noSearch),
  page('/alerts/channels', () => import('./alerts/channels.tsx'), 'AlertChannelsPage', noSearch),
  page('/alerts/budgets', () => import('./alerts/budgets.tsx'), 'BudgetsPage', noSearch),
  page('/usage', () => import('./usage/usage.tsx'), 'UsagePage', parseUsageSearch),
  page('/cache', () => import('./cache/cache.tsx'), 'CachePage', parsePeriodSearch),
  page('/organizations', () => import('./instance/organizations.tsx'), 'OrganizationsPage', parseNameSearch),
  page(
    '/audit',
    () => import('./instance/audit.tsx'),
    'AuditPage',
    (search) => texts(search, ['action', 'actor', 'resource', 'from', 'to']),
  ),
  page('/settings/instance', () => import('./instance/configuration.tsx'), 'InstanceSettingsPage', parseNameSearch),
  page(
    '/settings',
    () => import('./people/settings.tsx'),
    'SettingsPage',
    (search) => texts(search, ['error', 'request']),
  ),
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
