import {
  BarChart3,
  BookOpen,
  CircleDollarSign,
  Cpu,
  FileText,
  FolderOpen,
  House,
  KeyRound,
  Layers,
  List,
  type LucideIcon,
  MessageCircle,
  Play,
  Plug,
  Settings,
  Shield,
  SlidersHorizontal,
  ThumbsUp,
  TriangleAlert,
  Users,
} from 'lucide-react';
import type { Session } from '../api/session.ts';
import type { NavigationMessages } from './messages.ts';

interface NavigationTarget {
  to: string;
  label: keyof NavigationMessages;
  /** Scope that the page needs; absent: every user. */
  scope?: Session['scopes'][number];
  /** Whether it is not for viewers, who may only read. */
  isForWriters?: boolean;
  /** Whether only owners of the organization see the entry. */
  isForOwners?: boolean;
}

/** Whether a user may open a page. */
export const mayOpen = (
  { scope, isForWriters = false, isForOwners = false }: NavigationTarget,
  { scopes, organization: { role } }: Pick<Session, 'scopes' | 'organization'>,
): boolean =>
  (scope === undefined || scopes.includes(scope)) &&
  (!isForWriters || role !== 'viewer') &&
  (!isForOwners || role === 'owner');

interface NavigationItem extends NavigationTarget {
  icon: LucideIcon;
  /** Pages that are tabs of one entry, the first of which has its address. */
  tabs?: readonly NavigationTarget[];
}

/** The pages of the navigation, by group. */
export const NAVIGATION: readonly { heading: keyof NavigationMessages | null; items: readonly NavigationItem[] }[] = [
  {
    heading: null,
    items: [
      { to: '/chat', label: 'chat', icon: MessageCircle, scope: 'inference' },
      { to: '/start', label: 'start', icon: House },
      { to: '/knowledge-bases', label: 'knowledgeBases', icon: BookOpen, scope: 'knowledge' },
    ],
  },
  {
    heading: 'build',
    items: [
      { to: '/playground', label: 'playground', icon: Play, scope: 'inference' },
      { to: '/files', label: 'files', icon: FolderOpen, scope: 'files' },
      { to: '/batches', label: 'batches', icon: Layers, scope: 'inference' },
      { to: '/guardrails', label: 'guardrails', icon: Shield, scope: 'guardrails' },
      { to: '/mcp-servers', label: 'mcpServers', icon: Plug, scope: 'knowledge' },
      { to: '/keys', label: 'keys', icon: KeyRound, scope: 'inference', isForWriters: true },
    ],
  },
  {
    heading: 'observe',
    items: [
      { to: '/overview', label: 'overview', icon: BarChart3 },
      { to: '/requests', label: 'requests', icon: List },
      { to: '/feedback', label: 'feedback', icon: ThumbsUp, isForOwners: true },
      { to: '/usage', label: 'usage', icon: CircleDollarSign },
      {
        to: '/alerts',
        label: 'alerts',
        icon: TriangleAlert,
        tabs: [
          { to: '/alerts', label: 'alerts' },
          { to: '/alerts/channels', label: 'channels', scope: 'keys' },
          { to: '/alerts/budgets', label: 'budgets', scope: 'keys' },
        ],
      },
      { to: '/audit', label: 'audit', icon: FileText, scope: 'admin' },
    ],
  },
  {
    heading: 'manage',
    items: [
      { to: '/models', label: 'models', icon: Cpu },
      { to: '/presets', label: 'presets', icon: SlidersHorizontal, scope: 'keys', isForWriters: true },
      { to: '/members', label: 'members', icon: Users },
      {
        to: '/settings',
        label: 'settings',
        icon: Settings,
        tabs: [
          { to: '/settings', label: 'account' },
          { to: '/organizations', label: 'organizations', scope: 'admin' },
          { to: '/settings/instance', label: 'configuration', scope: 'admin' },
          { to: '/cache', label: 'cache', scope: 'admin' },
        ],
      },
    ],
  },
];

/** Every page of the navigation, tabs instead of their entry. */
export const NAVIGATION_TARGETS: readonly NavigationTarget[] = NAVIGATION.flatMap(({ items }) =>
  items.flatMap((item) => item.tabs ?? [item]),
);

/** Whether a path is a page or below it. */
const isBelow = (path: string, to: string): boolean => `${path}/`.startsWith(`${to}/`);

/** The page of the navigation that a path belongs to: the one with the longest address. */
export function findTarget(path: string): NavigationTarget | undefined {
  return NAVIGATION_TARGETS.filter(({ to }) => isBelow(path, to)).sort((a, b) => b.to.length - a.to.length)[0];
}

/** The entry of the navigation that a path belongs to. */
export function findItem(path: string): NavigationItem | undefined {
  const target = findTarget(path);
  return NAVIGATION.flatMap(({ items }) => items).find(
    ({ to, tabs }) => to === target?.to || tabs?.some((tab) => tab.to === target?.to),
  );
}
