import { Stack, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, body, pollEvery } from '../api/client.ts';
import { useRefresh } from '../api/refresh.ts';
import type { Schema } from '../api/types.ts';
import { ConfirmButton, FailureDialog, RowButton } from '../ui/confirm.tsx';
import { DataTable, numberColumn } from '../ui/data-table.tsx';
import { SelectField } from '../ui/fields.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { fill } from '../ui/language.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { EmptyState, UnfinishedQueries } from '../ui/states.tsx';
import { ItemName } from '../ui/text.tsx';
import { BindServersDialog } from './bind-servers.tsx';
import { EngineState } from './engine-health.tsx';
import { useEngines } from './engines.ts';
import { useModelMessages } from './messages.ts';
import { useUpstreamMessages } from './upstream-messages.ts';

type Model = Schema<'BoundModel'>;

const REFRESH_MS = 5_000;

/** Model ids with what serves them, searched by id and model. */
export function BoundModels({ search }: { search: string }) {
  const models = useModelMessages();
  const common = useCommonMessages();
  const format = useFormat();
  const [binding, setBinding] = useState<Model | null>(null);
  const [served, setServed] = useState<Model | null>(null);
  const query = useQuery({
    queryKey: ['admin-models'],
    queryFn: () => body(api.GET('/v1/admin/models')),
    refetchInterval: pollEvery(REFRESH_MS),
  });
  if (query.data === undefined) return <UnfinishedQueries queries={[query]} />;
  const matches = query.data.data.filter(({ id, backend }) => `${id} ${backend.model}`.toLowerCase().includes(search));
  if (matches.length === 0) return <EmptyState text={models.noneFound} />;
  return (
    <>
      <DataTable<Model>
        label={models.title}
        items={matches}
        columns={[
          { heading: common.name, cell: (model) => <Description model={model} /> },
          { heading: models.backend, cell: (model) => <Engine model={model} /> },
          numberColumn(models.context, ({ context_length }) => format.number(context_length)),
          numberColumn(models.price, ({ pricing, backend }) =>
            backend.engine === 'bundled' ? '–' : <Price pricing={pricing} />,
          ),
          { heading: models.chosenBy, cell: ({ chosen_by }) => models.origins[chosen_by] },
        ]}
        actions={(model) => (
          <Actions model={model} onBind={() => setBinding(model)} onBindServers={() => setServed(model)} />
        )}
      />
      {served !== null && <BindServersDialog model={served} onClose={() => setServed(null)} />}
      {binding !== null && <BindDialog model={binding} onClose={() => setBinding(null)} />}
    </>
  );
}

function Description({ model: { id, capabilities } }: { model: Model }) {
  const names = Object.entries(capabilities).flatMap(([name, has]) => (has ? [name.replaceAll('_', ' ')] : []));
  return <ItemName name={id} note={names.join(', ')} />;
}

/** Credits for a million prompt tokens and completion tokens. */
function Price({ pricing: { prompt, completion, unit } }: { pricing: Model['pricing'] }) {
  const format = useFormat();
  const factor = unit === 'per_1k_tokens' ? 1000 : 1;
  return `${format.money(prompt * factor * 1e6)} / ${format.money(completion * factor * 1e6)}`;
}

function Engine({ model: { id, backend } }: { model: Model }) {
  const models = useModelMessages();
  const engines = useEngines();
  const engine = engines.data?.data.find(({ models }) => models.includes(id));
  return (
    <Stack gap={4} align="flex-start">
      <Text size="sm">{backend.engine === 'bundled' ? models.bundled : `${backend.model} (${backend.engine})`}</Text>
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

const BUNDLED = 'bundled';

function BindDialog({ model, onClose }: { model: Model; onClose(): void }) {
  const models = useModelMessages();
  const [chosen, setChosen] = useState(model.stored_model ?? BUNDLED);
  const files = useQuery({ queryKey: ['model-files'], queryFn: () => body(api.GET('/v1/admin/model-files')) });
  const params = { path: { model_id: model.id } };
  const names = (files.data?.data ?? []).map(({ name }) => ({ value: name, label: name }));
  return (
    <FormDialog
      title={fill(models.bindTitle, { id: model.id })}
      onClose={onClose}
      submit={() => api.PUT('/v1/admin/models/{model_id}/binding', { params, body: { model: chosen } })}
      refreshes={['admin-models']}
    >
      <SelectField
        param="model"
        label={models.file}
        description={models.bindHint}
        allowDeselect={false}
        data={[{ value: BUNDLED, label: models.bundled }, ...names]}
        value={chosen}
        onChange={(value) => value !== null && setChosen(value)}
      />
    </FormDialog>
  );
}
