import { Button, Group, Paper, Progress, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../api/client.ts';
import { useRefresh } from '../api/refresh.ts';
import type { Schema } from '../api/types.ts';
import { ConfirmButton, RowButton } from '../ui/confirm.tsx';
import { useFormat } from '../ui/format.ts';
import { fill, useLanguage } from '../ui/language.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { RowMenu } from '../ui/row-menu.tsx';
import { MutationError } from '../ui/states.tsx';
import { StatusBadge } from '../ui/status-badge.tsx';
import { ErrorText, Hint } from '../ui/text.tsx';
import { BindFileDialog } from './bind-dialogs.tsx';
import { type CatalogueModel, checkFit, type Pull } from './catalogue.ts';
import { useModelMessages } from './messages.ts';
import { GERMAN_NOTES } from './model-notes.ts';

interface ModelCardProps {
  model: CatalogueModel;
  machine: Schema<'ModelFiles'>['machine'];
  /** Remaining milliseconds of the pull; null if unknown. */
  remainingMs: number | null;
  /** Whether several processes can pull models. */
  hasLocation: boolean;
  onPull(source: string): void;
}

/** Card of a model with its size, description and actions. */
export function ModelCard({ model, machine, remainingMs, hasLocation, onPull }: ModelCardProps) {
  const models = useModelMessages();
  const { language } = useLanguage();
  const { name, state, source, pull, note } = model;
  const pullLabel = state === 'partial' ? models.resume : models.pull;
  const expectation = (language === 'de' ? GERMAN_NOTES[name] : undefined) ?? note;
  return (
    <Paper withBorder p="md" component="article" aria-label={name} className="model-card">
      <Group justify="space-between" wrap="nowrap" align="flex-start">
        <Text fw={600} className="breakable">
          {name}
        </Text>
        {(state === 'stored' || state === 'partial') && <FileMenu model={model} />}
      </Group>
      {expectation !== null && <Text size="sm">{expectation}</Text>}
      <Facts model={model} />
      {pull !== null && <PullState pull={pull} remainingMs={remainingMs} hasLocation={hasLocation} />}
      <Stack gap={6} className="choice-foot">
        <Use model={model} />
        {state === 'available' && <Fit model={model} machine={machine} />}
        {state === 'stored' && <BindButton model={model} />}
        {source !== null && (state === 'available' || state === 'partial') && (
          <Button w="fit-content" variant="default" aria-label={`${pullLabel}: ${name}`} onClick={() => onPull(source)}>
            {pullLabel}
          </Button>
        )}
      </Stack>
    </Paper>
  );
}

function Facts({ model }: { model: CatalogueModel }) {
  const models = useModelMessages();
  const common = useCommonMessages();
  const format = useFormat();
  const { parameters, bytes, memoryBytes, contextLength, license, suits } = model;
  const facts: [string, string | null][] = [
    [models.parameters, parameters === null ? null : format.compact(parameters)],
    [common.size, bytes === null ? null : format.bytes(bytes)],
    [models.memory, memoryBytes === null ? null : fill(models.about, { size: format.bytes(memoryBytes) })],
    [
      models.context,
      contextLength === null ? null : fill(models.contextTokens, { count: format.number(contextLength) }),
    ],
    [models.license, license],
    [models.suits, suits.join(', ') || null],
  ];
  return (
    <dl className="facts">
      {facts.map(
        ([label, value]) =>
          value !== null && (
            <div key={label} style={{ display: 'contents' }}>
              <dt>{label}</dt>
              <dd>{value}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

/** Progress or error of a pull. */
function PullState({
  pull,
  remainingMs,
  hasLocation,
}: { pull: Pull } & Pick<ModelCardProps, 'remainingMs' | 'hasLocation'>) {
  const models = useModelMessages();
  const common = useCommonMessages();
  const format = useFormat();
  const refresh = useRefresh('model-pulls', 'model-files');
  const cancel = useMutation({
    mutationFn: () => api.POST('/v1/admin/model-pulls/{name}/cancel', { params: { path: { name: pull.name } } }),
    onSettled: refresh,
  });
  const { state, received_bytes: received, total_bytes: total, detail, location } = pull;
  const isPulling = state === 'pulling';
  const isReceived = isPulling && total !== null && received === total;
  const amount = fill(models.received, {
    received: format.bytes(received),
    total: total === null ? '–' : format.bytes(total),
  });
  const remaining = isPulling && remainingMs !== null && !isReceived ? format.duration(remainingMs) : null;
  return (
    <Stack gap={4}>
      <StatusBadge status={state} />
      {isPulling && <Progress value={total ? (received / total) * 100 : 0} aria-label={pull.name} />}
      <Hint>
        {isReceived ? models.checking : amount}
        {remaining !== null && `, ${fill(models.remaining, { time: remaining })}`}
        {hasLocation && ` · ${location}`}
      </Hint>
      {detail !== null && (state === 'failed' ? <ErrorText>{detail}</ErrorText> : <Hint>{detail}</Hint>)}
      <MutationError mutation={cancel} />
      {isPulling && (
        <Group>
          <RowButton
            variant="default"
            label={common.cancel}
            name={pull.name}
            loading={cancel.isPending}
            onClick={cancel.mutate}
          />
        </Group>
      )}
    </Stack>
  );
}

/** Bound model ids, and the memory of a loaded model. */
function Use({ model: { state, boundTo, loadedBytes } }: { model: CatalogueModel }) {
  const models = useModelMessages();
  const format = useFormat();
  if (state !== 'stored') return null;
  return (
    <>
      <Hint>{boundTo.length === 0 ? models.unbound : fill(models.servesIds, { ids: boundTo.join(', ') })}</Hint>
      {loadedBytes !== null && <Text size="sm">{fill(models.loaded, { size: format.bytes(loadedBytes) })}</Text>}
    </>
  );
}

/** Whether the machine has enough memory and disk space. */
function Fit({ model, machine }: Pick<ModelCardProps, 'model' | 'machine'>) {
  const models = useModelMessages();
  const fit = checkFit(model, machine);
  if ((model.bytes ?? 0) > machine.free_disk_bytes) return <ErrorText>{models.diskFull}</ErrorText>;
  if (fit === null) return null;
  return fit === 'tooLarge' ? <ErrorText>{models.fits[fit]}</ErrorText> : <Hint>{models.fits[fit]}</Hint>;
}

function BindButton({ model }: { model: CatalogueModel }) {
  const models = useModelMessages();
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button
        w="fit-content"
        variant="default"
        aria-label={`${models.bind}: ${model.name}`}
        onClick={() => setOpen(true)}
      >
        {models.bind}
      </Button>
      {isOpen && <BindFileDialog model={model} onClose={() => setOpen(false)} />}
    </>
  );
}

/** Menu that unbinds and deletes a model file. */
function FileMenu({ model: { name, boundTo } }: { model: CatalogueModel }) {
  const models = useModelMessages();
  const common = useCommonMessages();
  return (
    <RowMenu>
      {boundTo.map((id) => (
        <ConfirmButton
          key={id}
          label={fill(models.unbindFrom, { id })}
          name={name}
          text={models.unbindText}
          action={() =>
            api.PUT('/v1/admin/models/{model_id}/binding', {
              params: { path: { model_id: id } },
              body: { model: 'bundled' },
            })
          }
          refreshes={['admin-models', 'engines', 'models']}
        />
      ))}
      <ConfirmButton
        label={common.delete}
        name={name}
        title={fill(models.deleteTitle, { name })}
        text={models.deleteText}
        action={() => api.DELETE('/v1/admin/model-files/{name}', { params: { path: { name } } })}
        refreshes={['model-files', 'model-pulls']}
      />
    </RowMenu>
  );
}
