import {
  Anchor,
  AppShell,
  Burger,
  Button,
  Group,
  Menu,
  NavLink,
  Select,
  Stack,
  Text,
  useComputedColorScheme,
  useMantineColorScheme,
} from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link, Outlet, useNavigate, useRouterState } from '@tanstack/react-router';
import { useEffect } from 'react';
import { api } from '../api/client.ts';
import { useSession } from '../api/session.ts';
import { PRODUCT, useCommonMessages } from '../ui/messages.ts';
import { Page } from '../ui/page.tsx';
import { EmptyState } from '../ui/states.tsx';
import { Commands } from './commands.tsx';
import { useNavigationMessages } from './messages.ts';
import { NAVIGATION } from './navigation.ts';
import { useSwitchOrganization } from './use-switch-organization.ts';

/** The frame of all pages behind the sign-in: navigation, organization, account. */
export function Shell() {
  const nav = useNavigationMessages();
  const [isMenuOpen, { toggle, close }] = useDisclosure();
  const path = useRouterState({ select: ({ location }) => location.pathname });
  // biome-ignore lint/correctness/useExhaustiveDependencies: the menu closes when another page opens.
  useEffect(close, [path]);
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 240, breakpoint: 'sm', collapsed: { mobile: !isMenuOpen } }}
      padding="lg"
    >
      <Anchor href="#content" className="skip-link">
        {nav.skip}
      </Anchor>
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap">
            <Burger opened={isMenuOpen} onClick={toggle} hiddenFrom="sm" size="sm" aria-label={nav.menu} />
            <Anchor component={Link} to="/" underline="never" c="inherit">
              <Group gap={8} wrap="nowrap">
                <img src="/favicon.svg" width={24} height={24} alt="" />
                <Text fw={700}>{PRODUCT}</Text>
              </Group>
            </Anchor>
          </Group>
          <Group gap="xs" wrap="nowrap">
            <Commands />
            <OrganizationSwitch />
            <ThemeButton />
            <AccountMenu />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="sm" component="nav" aria-label={PRODUCT} style={{ overflowY: 'auto' }}>
        <Navigation path={path} />
      </AppShell.Navbar>
      <AppShell.Main id="content" tabIndex={-1}>
        <PermittedPage path={path} />
      </AppShell.Main>
    </AppShell>
  );
}

const isBelow = (path: string, to: string): boolean => (to === '/' ? path === '/' : `${path}/`.startsWith(`${to}/`));

/** Shows the page of a path, or a message when the role has no access. */
function PermittedPage({ path }: { path: string }) {
  const nav = useNavigationMessages();
  const common = useCommonMessages();
  const { scopes } = useSession();
  const item = NAVIGATION.flatMap(({ items }) => items).find(({ to }) => isBelow(path, to));
  if (item?.scope === undefined || scopes.includes(item.scope)) return <Outlet />;
  return (
    <Page title={nav[item.label]}>
      <EmptyState text={common.denied} />
    </Page>
  );
}

function Navigation({ path }: { path: string }) {
  const nav = useNavigationMessages();
  const { scopes } = useSession();
  return (
    <Stack gap="md">
      {NAVIGATION.map(({ heading, items }) => {
        const visible = items.filter(({ scope }) => scope === undefined || scopes.includes(scope));
        if (visible.length === 0) return null;
        return (
          <div key={heading ?? 'top'}>
            {heading !== null && (
              <Text size="xs" c="dimmed" fw={600} px="sm" mb={4}>
                {nav[heading]}
              </Text>
            )}
            {visible.map(({ to, label }) => (
              <NavLink
                key={to}
                component={Link}
                to={to}
                label={nav[label]}
                active={isBelow(path, to)}
                style={{ borderRadius: 'var(--mantine-radius-md)' }}
              />
            ))}
          </div>
        );
      })}
      <NavLink component="a" href="/docs" label={nav.reference} />
    </Stack>
  );
}

function OrganizationSwitch() {
  const nav = useNavigationMessages();
  const { organization, organizations } = useSession();
  const change = useSwitchOrganization();
  if (organizations.length < 2) return null;
  return (
    <Select
      aria-label={nav.switchOrganization}
      size="xs"
      w={170}
      visibleFrom="xs"
      searchable={organizations.length > 10}
      allowDeselect={false}
      value={organization.id}
      data={organizations.map(({ id, name }) => ({ value: id, label: name }))}
      onChange={(id) => id !== null && change.mutate(id)}
    />
  );
}

function ThemeButton() {
  const nav = useNavigationMessages();
  const { setColorScheme } = useMantineColorScheme();
  const scheme = useComputedColorScheme('light');
  return (
    <Button
      size="xs"
      variant="default"
      aria-label={nav.theme}
      onClick={() => setColorScheme(scheme === 'dark' ? 'light' : 'dark')}
    >
      {scheme === 'dark' ? '☀' : '☾'}
    </Button>
  );
}

function AccountMenu() {
  const nav = useNavigationMessages();
  const { user } = useSession();
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const signOut = useMutation({
    mutationFn: (everywhere: boolean) => api.DELETE('/v1/session', { params: { query: { everywhere } } }),
    onSettled: async () => {
      queryClient.clear();
      await navigate({ to: '/sign-in' });
    },
  });
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button size="xs" variant="default" maw={{ base: 120, sm: 240 }} aria-label={`${user.name}: ${nav.account}`}>
          <Text span inherit truncate maw={{ base: 76, sm: 180 }}>
            {user.name}
          </Text>
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{user.email}</Menu.Label>
        <Menu.Item component={Link} to="/settings">
          {nav.settings}
        </Menu.Item>
        <Menu.Divider />
        <Menu.Item onClick={() => signOut.mutate(false)}>{nav.signOut}</Menu.Item>
        <Menu.Item onClick={() => signOut.mutate(true)}>{nav.signOutEverywhere}</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
