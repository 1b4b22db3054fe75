import { Anchor, AppShell, Burger, Group, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Link, Outlet, useRouterState } from '@tanstack/react-router';
import { useEffect, useMemo } from 'react';
import { useSession } from '../api/session.ts';
import { PRODUCT, useCommonMessages } from '../ui/messages.ts';
import { Page, PageTabs } from '../ui/page.tsx';
import { EmptyState } from '../ui/states.tsx';
import { useNavigationMessages } from './messages.ts';
import { findItem, findTarget, mayOpen } from './navigation.ts';
import { Sidebar } from './sidebar.tsx';

/** The frame of all pages behind the sign-in: navigation, organization, account. */
export function Shell() {
  const nav = useNavigationMessages();
  const [isMenuOpen, { toggle, close }] = useDisclosure();
  const path = useRouterState({ select: ({ location }) => location.pathname });
  // biome-ignore lint/correctness/useExhaustiveDependencies: the menu closes when another page opens.
  useEffect(close, [path]);
  return (
    <AppShell
      header={{ height: { base: 48, sm: 0 } }}
      navbar={{ width: { base: '100%', sm: 56, md: 228 }, breakpoint: 'sm', collapsed: { mobile: !isMenuOpen } }}
    >
      <Anchor href="#content" className="skip-link">
        {nav.skip}
      </Anchor>
      <AppShell.Header hiddenFrom="sm">
        <Group h="100%" px="md" gap="sm" wrap="nowrap">
          <Burger opened={isMenuOpen} onClick={toggle} size="sm" aria-label={nav.menu} />
          <img src="/favicon.svg" width={22} height={22} alt="" />
          <Text fw={600}>{PRODUCT}</Text>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar className="sidebar">
        <Sidebar path={path} />
      </AppShell.Navbar>
      <AppShell.Main id="content" tabIndex={-1}>
        <PermittedPage path={path} />
      </AppShell.Main>
    </AppShell>
  );
}

/** Shows the page of a path with the tabs of its entry, or a message when the role has no access. */
function PermittedPage({ path }: { path: string }) {
  const nav = useNavigationMessages();
  const common = useCommonMessages();
  const session = useSession();
  const target = findTarget(path);
  const tabs = useMemo(() => {
    const visible = findItem(path)?.tabs?.filter((tab) => mayOpen(tab, session)) ?? [];
    return visible.length < 2
      ? null
      : visible.map(({ to, label }) => (
          <Link key={to} to={to} className="page-tab" activeOptions={{ exact: true }}>
            {nav[label]}
          </Link>
        ));
  }, [path, session, nav]);
  const isPermitted = target === undefined || mayOpen(target, session);
  return (
    <PageTabs value={tabs}>
      {isPermitted ? (
        <Outlet />
      ) : (
        <Page title={nav[target.label]}>
          <EmptyState text={common.denied} />
        </Page>
      )}
    </PageTabs>
  );
}
