import { Button, Fieldset, Group } from '@mantine/core';
import { useState } from 'react';
import { api } from '../api/client.ts';
import type { Schema } from '../api/types.ts';
import { NumberField, SelectField, SwitchField, TextField } from '../ui/fields.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { fill } from '../ui/language.tsx';
import { UnfinishedQueries } from '../ui/states.tsx';
import { Hint } from '../ui/text.tsx';
import { type BindingFields, moveUp, type RouteFields, toBindingBody, toBindingFields } from './server-binding.ts';
import { useUpstreamMessages } from './upstream-messages.ts';
import { isStored, useUpstreams } from './upstreams.ts';

interface BindServersProps {
  /** Null: a new model id. */
  model: Pick<Schema<'BoundModel'>, 'id' | 'upstream_binding'> | null;
  /** The first server of a model id without any. */
  initial?: { upstreamId: string; model: string };
  onClose(): void;
}

const MAX_ROUTES = 16;

/** Binds a model id to servers, with weights, fallbacks, a price and a context. */
export function BindServersDialog({ model, initial = { upstreamId: '', model: '' }, onClose }: BindServersProps) {
  const texts = useUpstreamMessages();
  const upstreams = useUpstreams();
  const [fields, setFields] = useState(() => toBindingFields(model, initial));
  const set = (changes: Partial<BindingFields>) => setFields({ ...fields, ...changes });
  if (upstreams.data === undefined) return <UnfinishedQueries queries={[upstreams]} />;
  const servers = upstreams.data.data.filter(isStored).map(({ id, name }) => ({ value: id, label: name }));
  const submit = () =>
    api.PUT('/v1/admin/models/{model_id}/upstreams', {
      params: { path: { model_id: fields.id } },
      body: toBindingBody(fields),
    });
  return (
    <FormDialog
      title={model === null ? texts.bind : `${texts.bindServers}: ${model.id}`}
      onClose={onClose}
      submit={submit}
      isValid={servers.length > 0}
      refreshes={['admin-models', 'upstreams', 'engines', 'models']}
      size="lg"
    >
      {servers.length === 0 && <Hint>{texts.noServers}</Hint>}
      {model === null && (
        <TextField
          param="model_id"
          label={texts.modelId}
          description={texts.modelIdHint}
          required
          value={fields.id}
          onChange={(id) => set({ id })}
        />
      )}
      <Routes servers={servers} routes={fields.routes} onChange={(routes) => set({ routes })} />
      <Conditions fields={fields} set={set} />
    </FormDialog>
  );
}

interface RoutesProps {
  servers: { value: string; label: string }[];
  routes: readonly RouteFields[];
  onChange(routes: RouteFields[]): void;
}

function Routes({ servers, routes, onChange }: RoutesProps) {
  const texts = useUpstreamMessages();
  const change = (index: number, changes: Partial<RouteFields>) =>
    onChange(routes.map((route, at) => (at === index ? { ...route, ...changes } : route)));
  const add = () => {
    const key = Math.max(...routes.map((route) => route.key)) + 1;
    onChange([...routes, { key, upstreamId: '', model: routes[0]?.model ?? '', weight: 0 }]);
  };
  return (
    <>
      {routes.map((route, index) => (
        <RouteRow
          key={route.key}
          servers={servers}
          index={index}
          route={route}
          onChange={(changes) => change(index, changes)}
          onMoveUp={index > 0 ? () => onChange(moveUp(routes, index)) : null}
          onRemove={routes.length > 1 ? () => onChange(routes.filter((_, at) => at !== index)) : null}
        />
      ))}
      <Hint>{texts.weightHint}</Hint>
      <Button variant="default" w="fit-content" disabled={routes.length >= MAX_ROUTES} onClick={add}>
        {texts.addRoute}
      </Button>
    </>
  );
}

interface RouteRowProps {
  servers: RoutesProps['servers'];
  index: number;
  route: RouteFields;
  onChange(changes: Partial<RouteFields>): void;
  /** Null: the first one. */
  onMoveUp: (() => void) | null;
  /** Null: the only one. */
  onRemove: (() => void) | null;
}

function RouteRow({ servers, index, route, onChange, onMoveUp, onRemove }: RouteRowProps) {
  const texts = useUpstreamMessages();
  const field = (name: string) => `routes.${index}.${name}`;
  return (
    <Fieldset legend={fill(texts.route, { number: index + 1 })}>
      <Group align="flex-end" gap="xs">
        <SelectField
          param={field('upstream_id')}
          label={texts.server}
          required
          data={servers}
          style={{ flex: '1 1 160px' }}
          value={route.upstreamId === '' ? null : route.upstreamId}
          onChange={(upstreamId) => onChange({ upstreamId: upstreamId ?? '' })}
        />
        <TextField
          param={field('model')}
          label={texts.model}
          required
          style={{ flex: '1 1 160px' }}
          value={route.model}
          onChange={(model) => onChange({ model })}
        />
        <NumberField
          param={field('weight')}
          label={texts.weight}
          min={0}
          max={1000}
          allowDecimal={false}
          w={80}
          value={route.weight}
          onChange={(weight) => onChange({ weight })}
        />
      </Group>
      <Group gap="xs" mt="xs">
        {onMoveUp && (
          <Button size="compact-sm" variant="subtle" onClick={onMoveUp}>
            {texts.up}
          </Button>
        )}
        {onRemove && (
          <Button size="compact-sm" variant="subtle" onClick={onRemove}>
            {texts.removeRoute}
          </Button>
        )}
      </Group>
    </Fieldset>
  );
}

interface ConditionsProps {
  fields: BindingFields;
  set(changes: Partial<BindingFields>): void;
}

function Conditions({ fields, set }: ConditionsProps) {
  const texts = useUpstreamMessages();
  return (
    <>
      <NumberField
        param="context_length"
        label={texts.context}
        description={texts.contextHint}
        min={16}
        allowDecimal={false}
        value={fields.contextLength}
        onChange={(contextLength) => set({ contextLength })}
      />
      <Group grow align="flex-start">
        <NumberField
          param="pricing.prompt"
          label={texts.promptPrice}
          description={texts.priceHint}
          min={0}
          value={fields.promptPrice}
          onChange={(promptPrice) => set({ promptPrice })}
        />
        <NumberField
          param="pricing.completion"
          label={texts.completionPrice}
          description={texts.priceHint}
          min={0}
          value={fields.completionPrice}
          onChange={(completionPrice) => set({ completionPrice })}
        />
      </Group>
      <SwitchField label={texts.vision} checked={fields.vision} onChange={(vision) => set({ vision })} />
    </>
  );
}
