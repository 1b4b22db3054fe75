import { Button, Group, Stack, Switch } from '@mantine/core';
import { type UseMutationResult, useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../api/client.ts';
import { useRefresh } from '../api/refresh.ts';
import type { Schema } from '../api/types.ts';
import { MODEL_SOURCE } from '../api/values.ts';
import { TextField } from '../ui/fields.tsx';
import { useFormat } from '../ui/format.ts';
import { fill } from '../ui/language.tsx';
import { Section } from '../ui/page.tsx';
import { EmptyState, MutationError, UnfinishedQueries } from '../ui/states.tsx';
import { Hint } from '../ui/text.tsx';
import { ValidatedForm } from '../ui/validated-form.tsx';
import { type CatalogueModel, checkFit, listCatalogue } from './catalogue.ts';
import { useModelMessages } from './messages.ts';
import { ModelCard } from './model-card.tsx';
import { useCatalogue } from './use-catalogue.ts';

type StartPull = UseMutationResult<unknown, Error, string>;

/** Tab of stored and available models. */
export function ModelCatalogue({ search }: { search: string }) {
  const models = useModelMessages();
  const [onlyFitting, setOnlyFitting] = useState(false);
  const { files, pulls, models: bound, engines } = useCatalogue();
  const refreshPulls = useRefresh('model-pulls');
  const start = useMutation({
    mutationFn: (source: string) => api.POST('/v1/admin/model-pulls', { body: { source } }),
    onSuccess: refreshPulls,
  });
  if (files.data === undefined || pulls.data === undefined || bound.data === undefined || engines.data === undefined)
    return <UnfinishedQueries queries={[files, pulls, bound, engines]} />;
  const { machine } = files.data;
  const lists = { files: files.data, pulls: pulls.data.data, models: bound.data.data, engines: engines.data.data };
  const shown = listCatalogue(lists).filter(
    (model) =>
      `${model.name} ${model.suits.join(' ')} ${model.license}`.toLowerCase().includes(search) &&
      (!onlyFitting || model.state !== 'available' || checkFit(model, machine) === 'fits'),
  );
  const [own, others] = [
    shown.filter(({ state }) => state !== 'available'),
    shown.filter(({ state }) => state === 'available'),
  ];
  const remaining = new Map(pulls.data.data.map((pull, at) => [pull, pulls.data.remaining[at] ?? null]));
  const isShared = new Set(lists.pulls.map(({ location }) => location)).size > 1;
  const grid = (listed: readonly CatalogueModel[]) => (
    <div className="card-grid">
      {listed.map((model) => (
        <ModelCard
          key={model.name}
          model={model}
          machine={machine}
          remainingMs={(model.pull && remaining.get(model.pull)) ?? null}
          hasLocation={isShared}
          onPull={start.mutate}
        />
      ))}
    </div>
  );
  return (
    <Stack gap="lg">
      <PullForm start={start} />
      <MutationError mutation={start} />
      <Group justify="space-between">
        <Machine machine={machine} />
        <Switch
          label={models.onlyFitting}
          checked={onlyFitting}
          onChange={(event) => setOnlyFitting(event.currentTarget.checked)}
        />
      </Group>
      {own.length > 0 && <Section title={models.onDisk}>{grid(own)}</Section>}
      <Section title={models.available}>
        {others.length === 0 ? <EmptyState text={models.noneFound} /> : grid(others)}
      </Section>
    </Stack>
  );
}

function Machine({ machine }: { machine: Schema<'ModelFiles'>['machine'] }) {
  const models = useModelMessages();
  const format = useFormat();
  return (
    <Hint>
      {fill(models.machine, {
        memory: format.bytes(machine.memory_bytes),
        free: format.bytes(machine.free_memory_bytes),
        disk: format.bytes(machine.free_disk_bytes),
      })}
    </Hint>
  );
}

function PullForm({ start }: { start: StartPull }) {
  const models = useModelMessages();
  const [source, setSource] = useState('');
  return (
    <ValidatedForm mutation={{ ...start, mutate: (_, options) => start.mutate(source.trim(), options) }}>
      <Group align="flex-end">
        <TextField
          param="source"
          label={models.source}
          description={models.sourceHint}
          required
          {...MODEL_SOURCE}
          style={{ flex: '1 1 260px' }}
          value={source}
          onChange={setSource}
        />
        <Button type="submit" loading={start.isPending}>
          {models.pull}
        </Button>
      </Group>
    </ValidatedForm>
  );
}
