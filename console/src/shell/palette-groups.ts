import { useComputedColorScheme, useMantineColorScheme } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { api, body } from '../api/client.ts';
import { useMayWrite, useSession } from '../api/session.ts';
import { fill, LANGUAGES, type Language, useLanguage } from '../ui/language.tsx';
import { useCommandMessages, useNavigationMessages } from './messages.ts';
import { mayOpen, NAVIGATION_TARGETS } from './navigation.ts';
import { useSwitchOrganization } from './use-switch-organization.ts';

/** What a command does, with a name that identifies it. */
export interface Command {
  id: string;
  label: string;
  description?: string;
  run(): void;
}

/** Commands under a heading. */
export interface CommandGroup {
  heading: string;
  commands: Command[];
}

/** Pause after the last key before a search is sent. */
const PAUSE_MS = 200;
const MAX_HITS = 5;

/** Groups of commands that match a text. Commands that find nothing are left out. */
export function usePaletteGroups(text: string, onHelp: () => void): CommandGroup[] {
  const groups = [usePages(), useCreations(), useSearchHits(text), useSwitches(onHelp)].flat();
  const words = text.trim().toLowerCase();
  return groups
    .map(({ heading, commands, isSearched }) => ({
      heading,
      commands: isSearched ? commands : commands.filter(({ label }) => label.toLowerCase().includes(words)),
    }))
    .filter(({ commands }) => commands.length > 0);
}

/** `isSearched`: the server has selected the commands for the text. */
type Group = CommandGroup & { isSearched?: boolean };

function usePages(): Group {
  const nav = useNavigationMessages();
  const commands = useCommandMessages();
  const session = useSession();
  const navigate = useNavigate();
  const pages = NAVIGATION_TARGETS.filter((target) => mayOpen(target, session));
  const open = (to: string) => () => void navigate({ to: to as never });
  return {
    heading: commands.pages,
    commands: pages.map(({ to, label }) => ({ id: to, label: nav[label] as string, run: open(to) })),
  };
}

function useCreations(): Group {
  const commands = useCommandMessages();
  const { scopes } = useSession();
  const mayWrite = useMayWrite();
  const navigate = useNavigate();
  const create = { search: { create: true } } as const;
  const creations = [
    { scope: 'knowledge', label: commands.newKnowledgeBase, run: () => navigate({ to: '/knowledge-bases' }) },
    { scope: 'inference', label: commands.newBatch, run: () => navigate({ to: '/batches', ...create }) },
    { scope: 'guardrails', label: commands.newPolicy, run: () => navigate({ to: '/guardrails', ...create }) },
    { scope: 'keys', label: commands.newKey, run: () => navigate({ to: '/keys', ...create }) },
  ] as const;
  return {
    heading: commands.create,
    commands: creations
      .filter(({ scope }) => mayWrite && scopes.includes(scope))
      .map(({ label, run }) => ({ id: label, label, run: () => void run() })),
  };
}

/** Knowledge bases, keys and models whose name contains the text, found by the server. */
function useSearchHits(text: string): Group[] {
  const nav = useNavigationMessages();
  const { organization, scopes } = useSession();
  const navigate = useNavigate();
  const [search] = useDebouncedValue(text.trim(), PAUSE_MS);
  const query = useQuery({
    queryKey: ['palette', organization.id, search],
    queryFn: () => searchNames(search, organization.id, scopes),
    enabled: search !== '',
    placeholderData: keepPreviousData,
  });
  if (search === '' || query.data === undefined) return [];
  const { bases, keys, models } = query.data;
  // Until the answer arrives, the hits are those of an earlier text.
  const isSearched = search === text.trim() && !query.isPlaceholderData;
  const group = (heading: string, commands: Command[]): Group => ({ heading, commands, isSearched });
  return [
    group(
      nav.knowledgeBases,
      bases.map(({ id, name }) => ({
        id,
        label: name,
        run: () => void navigate({ to: '/knowledge-bases/$kbId', params: { kbId: id } }),
      })),
    ),
    group(
      nav.models,
      models.map((id) => ({ id: `model ${id}`, label: id, run: () => void navigate({ to: '/playground' }) })),
    ),
    group(
      nav.keys,
      keys.map(({ id, name, hint }) => ({
        id,
        label: name,
        description: `…${hint}`,
        run: () => void navigate({ to: '/keys/$keyId', params: { keyId: id } }),
      })),
    ),
  ];
}

async function searchNames(search: string, organizationId: string, scopes: readonly string[]) {
  const query = { search, limit: MAX_HITS, order: 'desc' as const };
  const [bases, keys, models] = await Promise.all([
    scopes.includes('knowledge') ? body(api.GET('/v1/knowledge-bases', { params: { query } })) : null,
    scopes.includes('keys')
      ? body(api.GET('/v1/admin/keys', { params: { query: { ...query, organization_id: organizationId } } }))
      : null,
    body(api.GET('/v1/models', { params: { query: {} } })),
  ]);
  const isMatch = (id: string) => id.toLowerCase().includes(search.toLowerCase());
  const ids = models.data.map(({ id }) => id).filter(isMatch);
  return { bases: bases?.data ?? [], keys: keys?.data ?? [], models: ids.slice(0, MAX_HITS) };
}

function useSwitches(onHelp: () => void): Group {
  const commands = useCommandMessages();
  const { organization, organizations } = useSession();
  const { language, setLanguage } = useLanguage();
  const { setColorScheme } = useMantineColorScheme();
  const scheme = useComputedColorScheme('light');
  const { mutate: switchOrganization } = useSwitchOrganization();
  const languages = Object.entries(LANGUAGES).filter(([tag]) => tag !== language);
  const others = organizations.filter(({ id }) => id !== organization.id);
  return {
    heading: commands.switchTo,
    commands: [
      { id: 'theme', label: commands.theme, run: () => setColorScheme(scheme === 'dark' ? 'light' : 'dark') },
      ...languages.map(([tag, name]) => ({
        id: `language ${tag}`,
        label: fill(commands.language, { name }),
        run: () => void setLanguage(tag as Language),
      })),
      ...others.map(({ id, name }) => ({
        id,
        label: fill(commands.organization, { name }),
        run: () => switchOrganization(id),
      })),
      { id: 'help', label: commands.help, run: onHelp },
    ],
  };
}
