import type { Session } from '../api/session.ts';
import type { NavigationMessages } from './messages.ts';

interface NavigationItem {
  to: string;
  label: keyof NavigationMessages;
  /** Scope that the page needs; absent: every user. */
  scope?: Session['scopes'][number];
}

/** The pages of the navigation, by group. */
export const NAVIGATION: readonly { heading: keyof NavigationMessages | null; items: readonly NavigationItem[] }[] = [
  {
    heading: null,
    items: [
      { to: '/', label: 'start' },
      { to: '/overview', label: 'overview' },
      { to: '/playground', label: 'playground', scope: 'inference' },
    ],
  },
  {
    heading: 'build',
    items: [
      { to: '/knowledge-bases', label: 'knowledgeBases', scope: 'knowledge' },
      { to: '/files', label: 'files', scope: 'files' },
      { to: '/batches', label: 'batches', scope: 'inference' },
      { to: '/guardrails', label: 'guardrails', scope: 'guardrails' },
      { to: '/mcp-servers', label: 'mcpServers', scope: 'knowledge' },
    ],
  },
  {
    heading: 'organization',
    items: [
      { to: '/keys', label: 'keys', scope: 'keys' },
      { to: '/members', label: 'members' },
      { to: '/usage', label: 'usage' },
    ],
  },
  {
    heading: 'instance',
    items: [
      { to: '/models', label: 'models', scope: 'admin' },
      { to: '/cache', label: 'cache', scope: 'admin' },
      { to: '/organizations', label: 'organizations', scope: 'admin' },
      { to: '/audit', label: 'audit', scope: 'admin' },
      { to: '/settings/instance', label: 'configuration', scope: 'admin' },
    ],
  },
];
