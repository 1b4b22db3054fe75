import { Button, Group, Stack, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, body } from '../api/client.ts';
import type { Schema } from '../api/types.ts';
import { Modal } from '../ui/dialogs.tsx';
import { AutocompleteField } from '../ui/fields.tsx';
import { useFormat } from '../ui/format.ts';
import { fill } from '../ui/language.tsx';
import { MutationError, QueryData } from '../ui/states.tsx';
import { StatusBadge } from '../ui/status-badge.tsx';
import { ErrorText, Hint } from '../ui/text.tsx';
import { ValidatedForm } from '../ui/validated-form.tsx';
import { BindServersDialog } from './bind-servers.tsx';
import { useUpstreamMessages } from './upstream-messages.ts';
import type { StoredUpstream } from './upstreams.ts';

type Result = Schema<'UpstreamTest'>;

const test = (id: string, model: string | null) =>
  body(api.POST('/v1/admin/upstreams/{upstream_id}/test', { params: { path: { upstream_id: id } }, body: { model } }));

/** Tests a server: whether it answers, its models, and what one of them can do. */
export function UpstreamTestDialog({ upstream, onClose }: { upstream: StoredUpstream; onClose(): void }) {
  const texts = useUpstreamMessages();
  const [isBinding, setBinding] = useState(false);
  const [model, setModel] = useState('');
  const listed = useQuery({
    queryKey: ['upstream-test', upstream.id],
    queryFn: () => test(upstream.id, null),
    gcTime: 0,
  });
  if (isBinding)
    return <BindServersDialog initial={{ upstreamId: upstream.id, model }} model={null} onClose={onClose} />;
  return (
    <Modal opened onClose={onClose} title={fill(texts.testTitle, { name: upstream.name })} size="lg">
      <Stack>
        <QueryData query={listed}>{(result) => <Servers result={result} />}</QueryData>
        <FeatureTest
          id={upstream.id}
          names={(listed.data?.models ?? []).map(({ id }) => id)}
          model={model}
          setModel={setModel}
        />
        <Group justify="flex-end">
          <Button variant="default" onClick={() => setBinding(true)}>
            {texts.bind}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

function Servers({ result: { servers, models } }: { result: Result }) {
  const texts = useUpstreamMessages();
  return (
    <Stack gap={4}>
      {servers.map(({ url, latency_ms: ms, error }) => (
        <div key={url}>
          <Group gap="xs">
            <StatusBadge status={error === null ? 'up' : 'down'} />
            <Text className="breakable">{url}</Text>
            {error === null && <Hint>{fill(texts.reachable, { ms })}</Hint>}
          </Group>
          <ErrorText>{error}</ErrorText>
        </div>
      ))}
      <Hint>{fill(texts.modelCount, { count: models.length })}</Hint>
    </Stack>
  );
}

interface FeatureTestProps {
  id: string;
  /** Names of the models that the server lists. */
  names: readonly string[];
  model: string;
  setModel(model: string): void;
}

function FeatureTest({ id, names, model, setModel }: FeatureTestProps) {
  const texts = useUpstreamMessages();
  const features = useMutation<Result, Error, void>({ mutationFn: () => test(id, model) });
  return (
    <ValidatedForm mutation={{ ...features, mutate: (_, options) => features.mutate(undefined, options) }}>
      <Stack>
        <Group align="flex-end">
          <AutocompleteField
            param="model"
            label={texts.model}
            description={texts.modelHint}
            required
            data={[...new Set(names)]}
            style={{ flex: '1 1 260px' }}
            value={model}
            onChange={setModel}
          />
          <Button type="submit" loading={features.isPending}>
            {texts.test}
          </Button>
        </Group>
        <MutationError mutation={features} />
        {features.data !== undefined && <Features result={features.data} />}
      </Stack>
    </ValidatedForm>
  );
}

function Features({ result: { features, context_length: context } }: { result: Result }) {
  const texts = useUpstreamMessages();
  const format = useFormat();
  return (
    <Stack gap={4} role="status">
      <Text>
        {context === null ? texts.contextUnknown : fill(texts.contextTokens, { count: format.number(context) })}
      </Text>
      {features.map(({ name, error }) => (
        <div key={name}>
          <Group gap="xs">
            <StatusBadge status={error === null ? 'ready' : 'failed'} />
            <Text>
              {texts.features[name]}
              {error === null && `: ${texts.works}`}
            </Text>
          </Group>
          <ErrorText>{error}</ErrorText>
        </div>
      ))}
    </Stack>
  );
}
