import { Tabs } from '@mantine/core';
import { getRouteApi } from '@tanstack/react-router';
import { Page } from '../ui/page.tsx';
import { AddressSearch } from '../ui/search-field.tsx';
import { BoundModels } from './bound-models.tsx';
import { EngineHealth } from './engine-health.tsx';
import { useModelMessages } from './messages.ts';
import { ModelFilesPanel } from './model-files.tsx';
import { UpstreamList } from './upstream-list.tsx';

const route = getRouteApi('/shell/models');
const TABS = ['ids', 'servers', 'engines', 'files'] as const;

/** Model ids with their bindings, engines with their state, models on the disk and to pull. */
export function ModelsPage() {
  const models = useModelMessages();
  const { q = '', tab } = route.useSearch();
  const navigate = route.useNavigate();
  const show = (next: string | null) =>
    void navigate({
      search: (before) => ({ ...before, tab: next === 'ids' || next === null ? undefined : next }),
      replace: true,
    });
  return (
    <Page title={models.title} intro={models.intro} action={<AddressSearch label={models.search} />}>
      <Tabs value={TABS.find((one) => one === tab) ?? 'ids'} onChange={show} keepMounted={false}>
        <Tabs.List mb="md">
          {TABS.map((one) => (
            <Tabs.Tab key={one} value={one}>
              {models.tabs[one]}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="ids">
          <BoundModels search={q.toLowerCase()} />
        </Tabs.Panel>
        <Tabs.Panel value="servers">
          <UpstreamList search={q.toLowerCase()} />
        </Tabs.Panel>
        <Tabs.Panel value="engines">
          <EngineHealth />
        </Tabs.Panel>
        <Tabs.Panel value="files">
          <ModelFilesPanel search={q.toLowerCase()} />
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}
