import { Tabs } from '@mantine/core';
import { getRouteApi } from '@tanstack/react-router';
import { useSession } from '../api/session.ts';
import { lazyPart } from '../ui/lazy-part.tsx';
import { Page } from '../ui/page.tsx';
import { AddressSearch } from '../ui/search-field.tsx';
import { BoundModels } from './bound-models.tsx';
import { EngineHealth } from './engine-health.tsx';
import { useModelMessages } from './messages.ts';
import { UsableModels } from './usable-models.tsx';

const ModelCatalogue = lazyPart(() => import('./model-catalogue.tsx'), 'ModelCatalogue');
const UpstreamList = lazyPart(() => import('./upstream-list.tsx'), 'UpstreamList');

const route = getRouteApi('/shell/models');
const TABS = ['ids', 'catalogue', 'servers', 'engines'] as const;

/** Page of usable models. Operators also see bindings, the catalogue, servers and engines. */
export function ModelsPage() {
  const models = useModelMessages();
  const isOperator = useSession().scopes.includes('admin');
  const { q = '' } = route.useSearch();
  const intro = isOperator ? models.intro : models.usableIntro;
  return (
    <Page title={models.title} intro={intro} action={<AddressSearch label={models.search} />}>
      {isOperator ? <ModelTabs search={q.toLowerCase()} /> : <UsableModels search={q.toLowerCase()} />}
    </Page>
  );
}

function ModelTabs({ search }: { search: string }) {
  const models = useModelMessages();
  const { tab } = route.useSearch();
  const navigate = route.useNavigate();
  const show = (next: string | null) =>
    void navigate({
      search: (before) => ({ ...before, tab: next === 'ids' || next === null ? undefined : next }),
      replace: true,
    });
  return (
    <Tabs value={TABS.find((one) => one === tab) ?? 'ids'} onChange={show} keepMounted={false}>
      <Tabs.List mb="md">
        {TABS.map((one) => (
          <Tabs.Tab key={one} value={one}>
            {models.tabs[one]}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      <Tabs.Panel value="ids">
        <BoundModels search={search} />
      </Tabs.Panel>
      <Tabs.Panel value="catalogue">
        <ModelCatalogue search={search} />
      </Tabs.Panel>
      <Tabs.Panel value="servers">
        <UpstreamList search={search} />
      </Tabs.Panel>
      <Tabs.Panel value="engines">
        <EngineHealth />
      </Tabs.Panel>
    </Tabs>
  );
}
