import { Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../api/client.ts';
import { useRefresh } from '../api/refresh.ts';
import type { Schema } from '../api/types.ts';
import { ConfirmButton, FailureDialog, RowButton } from '../ui/confirm.tsx';
import { DataTable } from '../ui/data-table.tsx';
import { lazyPart } from '../ui/lazy-part.tsx';
import { EmptyState, UnfinishedQueries } from '../ui/states.tsx';
import { EngineState } from './engine-health.tsx';
import { useEngines } from './engines.ts';
import { useModelMessages } from './messages.ts';
import { useBackendName, useModelColumns } from './model-columns.tsx';
import { useUpstreamMessages } from './upstream-messages.ts';
import { useBoundModels } from './use-catalogue.ts';

const BindIdDialog = lazyPart(() => import('./bind-dialogs.tsx'), 'BindIdDialog');
const BindServersDialog = lazyPart(() => import('./bind-servers.tsx'), 'BindServersDialog');

type Model = Schema<'BoundModel'>;

/** Model ids with what serves them, searched by id and model. */
export function BoundModels({ search }: { search: string }) {
  const models = useModelMessages();
  const { name, figures } = useModelColumns<Model>();
  const [binding, setBinding] = useState<Model | null>(null);
  const [served, setServed] = useState<Model | null>(null);
  const query = useBoundModels();
  const { isPending } = useEngines();
  // Rows grow by the states of the engines: shown before, they would shift the layout.
  if (query.data === undefined || isPending) return <UnfinishedQueries queries={[query]} />;
  const matches = query.data.data.filter(({ id, backend }) => `${id} ${backend.model}`.toLowerCase().includes(search));
  if (matches.length === 0) return <EmptyState text={models.noneFound} />;
  return (
    <>
      <DataTable<Model>
        label={models.title}
        items={matches}
        columns={[
          name,
          { heading: models.backend, cell: (model) => <Engine model={model} /> },
          ...figures,
          { heading: models.chosenBy, cell: ({ chosen_by }) => models.origins[chosen_by] },
        ]}
        actions={(model) => (
          <Actions model={model} onBind={() => setBinding(model)} onBindServers={() => setServed(model)} />
        )}
      />
      {served !== null && <BindServersDialog model={served} onClose={() => setServed(null)} />}
      {binding !== null && <BindIdDialog model={binding} onClose={() => setBinding(null)} />}
    </>
  );
}

function Engine({ model }: { model: Model }) {
  const backendName = useBackendName();
  const engines = useEngines();
  const engine = engines.data?.data.find(({ models }) => models.includes(model.id));
  return (
    <Stack gap={4} align="flex-start">
      <Text size="sm">{backendName(model)}</Text>
      {engine !== undefined && <EngineState engine={engine} />}
    </Stack>
  );
}

function Actions({ model, onBind, onBindServers }: { model: Model; onBind(): void; onBindServers(): void }) {
  const models = useModelMessages();
  const upstreams = useUpstreamMessages();
  const refresh = useRefresh('engines');
  const engine = useEngines().data?.data.find((one) => one.models.includes(model.id));
  const isLoaded = engine?.state === 'ready';
  const path = { params: { path: { model_id: model.id } } };
  const toggle = useMutation({
    mutationFn: async () => {
      if (isLoaded) await api.POST('/v1/admin/models/{model_id}/unload', path);
      else await api.POST('/v1/admin/models/{model_id}/load', path);
    },
    onSettled: refresh,
  });
  return (
    <>
      <RowButton label={models.bind} name={model.id} onClick={onBind} />
      {model.chosen_by !== 'configuration' && (
        <RowButton label={upstreams.bindServers} name={model.id} onClick={onBindServers} />
      )}
      {model.upstream_binding !== null && (
        <ConfirmButton
          label={upstreams.unbind}
          name={model.id}
          text={upstreams.unbindText}
          action={() => api.DELETE('/v1/admin/models/{model_id}/upstreams', path)}
          refreshes={['admin-models', 'upstreams', 'engines', 'models']}
        />
      )}
      {engine?.can_unload === true && (
        <RowButton
          label={isLoaded ? models.unload : models.load}
          name={model.id}
          loading={toggle.isPending}
          onClick={toggle.mutate}
        />
      )}
      <FailureDialog title={model.id} mutation={toggle} />
    </>
  );
}
