import { ActionIcon, Anchor, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Link, Outlet, useRouterState } from '@tanstack/react-router';
import { Menu, X } from 'lucide-react';
import { useEffect, useMemo } from 'react';
import { useSession } from '../api/session.ts';
import { Icon } from '../ui/icon.tsx';
import { PRODUCT, useCommonMessages } from '../ui/messages.ts';
import { Page, PageTabs } from '../ui/page.tsx';
import { EmptyState } from '../ui/states.tsx';
import { AlertBell } from './alert-bell.tsx';
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
    <div className="shell" data-menu={isMenuOpen || undefined}>
      <Anchor href="#content" className="skip-link">
        {nav.skip}
      </Anchor>
      <header className="shell-head">
        <ActionIcon onClick={toggle} aria-label={nav.menu} aria-expanded={isMenuOpen}>
          <Icon icon={isMenuOpen ? X : Menu} />
        </ActionIcon>
        <img src="/favicon.svg" width={22} height={22} alt="" />
        <Text fw={600}>{PRODUCT}</Text>
        <AlertBell isCompact />
      </header>
      <div className="sidebar">
        <Sidebar path={path} />
      </div>
      <main id="content" tabIndex={-1}>
        <PermittedPage path={path} />
      </main>
    </div>
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
