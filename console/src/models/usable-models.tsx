import type { Schema } from '../api/types.ts';
import { useModels } from '../api/use-models.ts';
import { DataTable } from '../ui/data-table.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { EmptyState, QueryData } from '../ui/states.tsx';
import { StatusBadge } from '../ui/status-badge.tsx';
import { useModelMessages } from './messages.ts';
import { useBackendName, useModelColumns } from './model-columns.tsx';

type Model = Schema<'Model'>;

/** Read-only table of usable models, searchable by model id and engine. */
export function UsableModels({ search }: { search: string }) {
  const models = useModelMessages();
  const common = useCommonMessages();
  const { name, figures } = useModelColumns<Model>();
  const backendName = useBackendName();
  const columns = [
    name,
    { heading: models.backend, cell: backendName },
    {
      heading: common.status,
      cell: ({ backend }: Model) => <StatusBadge status={backend.ready ? 'up' : 'down'} />,
    },
    ...figures,
  ];
  return (
    <QueryData query={useModels()}>
      {({ data }) => {
        const matches = data.filter(({ id, backend }) => `${id} ${backend.model}`.toLowerCase().includes(search));
        if (matches.length === 0) return <EmptyState text={models.noneFound} />;
        return <DataTable<Model> label={models.title} items={matches} columns={columns} />;
      }}
    </QueryData>
  );
}
