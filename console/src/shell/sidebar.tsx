import {
  Avatar,
  Menu,
  Text,
  UnstyledButton,
  useComputedColorScheme,
  useMantineColorScheme,
  VisuallyHidden,
} from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import {
  BookText,
  Check,
  ChevronDown,
  ChevronsUpDown,
  LifeBuoy,
  LogOut,
  type LucideIcon,
  MonitorOff,
  Moon,
  Sun,
  UserRound,
} from 'lucide-react';
import { api } from '../api/client.ts';
import { useSession } from '../api/session.ts';
import { Icon } from '../ui/icon.tsx';
import { PRODUCT } from '../ui/messages.ts';
import { AlertBell } from './alert-bell.tsx';
import { Commands } from './commands.tsx';
import { useNavigationMessages } from './messages.ts';
import { findItem, mayOpen, NAVIGATION } from './navigation.ts';
import { useSwitchOrganization } from './use-switch-organization.ts';

/** Organization, search, pages by group, and the account. */
export function Sidebar({ path }: { path: string }) {
  return (
    <>
      <OrganizationMenu />
      <Commands />
      <AlertBell />
      <Navigation path={path} />
      <AccountMenu />
    </>
  );
}

function Navigation({ path }: { path: string }) {
  const nav = useNavigationMessages();
  const session = useSession();
  const current = findItem(path);
  return (
    <nav aria-label={PRODUCT} className="sidebar-pages">
      {NAVIGATION.map(({ heading, items }) => {
        const visible = items.filter((item) => mayOpen(item, session));
        if (visible.length === 0) return null;
        return (
          <div key={heading ?? 'top'}>
            {heading !== null && <div className="sidebar-heading">{nav[heading]}</div>}
            {visible.map((item) => (
              <Link
                key={item.to}
                to={item.to}
                className="sidebar-item"
                data-active={item === current || undefined}
                aria-current={item === current ? 'page' : undefined}
                title={nav[item.label]}
              >
                <SidebarLabel icon={item.icon} label={nav[item.label]} />
              </Link>
            ))}
          </div>
        );
      })}
      <a href="/docs/guide" className="sidebar-item" title={nav.guide}>
        <SidebarLabel icon={LifeBuoy} label={nav.guide} />
      </a>
      <a href="/docs/guide/api/all" className="sidebar-item" title={nav.reference}>
        <SidebarLabel icon={BookText} label={nav.reference} />
      </a>
    </nav>
  );
}

function SidebarLabel({ icon, label }: { icon: LucideIcon; label: string }) {
  return (
    <>
      <Icon icon={icon} />
      <span className="sidebar-label">{label}</span>
    </>
  );
}

/** The name of the organization; a menu of the others when the user has more than one. */
function OrganizationMenu() {
  const nav = useNavigationMessages();
  const { organization, organizations } = useSession();
  const change = useSwitchOrganization();
  const head = (
    <>
      <img src="/favicon.svg" width={22} height={22} alt="" />
      <Text span inherit truncate className="sidebar-label">
        {organization.name}
      </Text>
    </>
  );
  if (organizations.length < 2) return <div className="sidebar-head">{head}</div>;
  return (
    <Menu position="bottom-start" width={228}>
      <Menu.Target>
        <UnstyledButton className="sidebar-head" aria-label={`${nav.switchOrganization}: ${organization.name}`}>
          {head}
          <Icon icon={ChevronDown} className="sidebar-label" />
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown mah={400} style={{ overflowY: 'auto' }}>
        {organizations.map(({ id, name }) => (
          <Menu.Item
            key={id}
            onClick={() => id !== organization.id && change.mutate(id)}
            rightSection={id === organization.id && <Icon icon={Check} />}
          >
            {name}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

function AccountMenu() {
  const nav = useNavigationMessages();
  const { user } = useSession();
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const { setColorScheme } = useMantineColorScheme();
  const isDark = useComputedColorScheme('light') === 'dark';
  const signOut = useMutation({
    mutationFn: (everywhere: boolean) => api.DELETE('/v1/session', { params: { query: { everywhere } } }),
    onSettled: async () => {
      queryClient.clear();
      await navigate({ to: '/sign-in' });
    },
  });
  return (
    <Menu position="top-start" width={228}>
      <Menu.Target>
        <UnstyledButton className="sidebar-foot">
          <Avatar size={22} radius="xl" name={user.name} color="accent" aria-hidden />
          <Text span inherit truncate className="sidebar-label">
            {user.name}
          </Text>
          <VisuallyHidden>{`: ${nav.account}`}</VisuallyHidden>
          <Icon icon={ChevronsUpDown} className="sidebar-label" />
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{user.email}</Menu.Label>
        <Menu.Item component={Link} to="/settings" leftSection={<Icon icon={UserRound} />}>
          {nav.account}
        </Menu.Item>
        <Menu.Item
          leftSection={<Icon icon={isDark ? Sun : Moon} />}
          onClick={() => setColorScheme(isDark ? 'light' : 'dark')}
        >
          {nav.theme}
        </Menu.Item>
        <Menu.Divider />
        <Menu.Item leftSection={<Icon icon={LogOut} />} onClick={() => signOut.mutate(false)}>
          {nav.signOut}
        </Menu.Item>
        <Menu.Item leftSection={<Icon icon={MonitorOff} />} onClick={() => signOut.mutate(true)}>
          {nav.signOutEverywhere}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
