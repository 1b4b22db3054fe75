import { Text } from '@mantine/core';
import { api, body } from '../api/client.ts';
import type { paths } from '../api/schema.d.ts';
import { useFormat } from '../components/format.ts';
import { Page } from '../components/page.tsx';
import { ResourceTable } from '../components/resource-table.tsx';
import { StatusBadge } from '../components/status-badge.tsx';
import { useMessages } from '../messages/index.tsx';

type Model = paths['/v1/admin/models']['get']['responses'][200]['content']['application/json']['data'][number];

/** Models and what serves them. */
export function ModelsPage() {
  const { models, common } = useMessages();
  const format = useFormat();
  const fetchPage = async () => {
    const { data } = await body(api.GET('/v1/admin/models'));
    return { data, has_more: false, last_id: null };
  };
  return (
    <Page title={models.title} intro={models.intro}>
      <ResourceTable<Model>
        label={models.title}
        queryKey={['admin-models']}
        fetchPage={fetchPage}
        rowKey={(model) => model.id}
        empty={common.none}
        columns={[
          { heading: common.name, cell: (model) => <Text fw={500}>{model.id}</Text> },
          {
            heading: models.backend,
            cell: (model) => (
              <div>
                <Text size="sm">{model.backend?.model}</Text>
                <Text size="xs" c="dimmed">
                  {model.backend?.engine}
                </Text>
              </div>
            ),
          },
          {
            heading: common.status,
            cell: (model) => {
              const isReady = model.backend?.ready ?? false;
              return (
                <StatusBadge status={isReady ? 'ready' : 'error'} label={isReady ? models.ready : models.notReady} />
              );
            },
          },
          { heading: models.context, cell: (model) => format.number(model.context_length), isNumber: true },
          { heading: models.chosenBy, cell: (model) => model.chosen_by },
        ]}
      />
    </Page>
  );
}
