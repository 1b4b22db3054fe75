import {
  Badge,
  Button,
  Group,
  Modal,
  Select,
  SimpleGrid,
  Slider,
  Switch,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, body } from '../api/client.ts';
import type { paths } from '../api/schema.d.ts';
import { useMayWrite, useSession } from '../api/session.ts';
import { ConfirmButton } from '../components/confirm.tsx';
import { Form } from '../components/form-dialog.tsx';
import { Page } from '../components/page.tsx';
import { ResourceTable } from '../components/resource-table.tsx';
import { EmptyState } from '../components/states.tsx';
import { useMessages } from '../messages/index.tsx';
import { DryRun } from './guardrail-dry-run.tsx';

export type Policy =
  paths['/v1/guardrail-policies']['get']['responses'][200]['content']['application/json']['data'][number];
type PolicyBody = NonNullable<paths['/v1/guardrail-policies']['post']['requestBody']>['content']['application/json'];
type Category = keyof Policy['thresholds'];
type Direction = Policy['apply_to'][number];

const CATEGORIES: readonly Category[] = ['harassment', 'hate', 'self_harm', 'sexual', 'violence'];
const DEFAULT_THRESHOLD = 0.5;
/** Marks a topic that only warns, in the text field of topics. */
const WARN_PREFIX = '~';

/** Guardrail policies with a dry run. */
export function GuardrailsPage() {
  const { guardrails, common } = useMessages();
  const mayWrite = useMayWrite();
  const { organization } = useSession();
  const queryClient = useQueryClient();
  const [edited, setEdited] = useState<Policy | 'new' | null>(null);
  const [tested, setTested] = useState<Policy | null>(null);
  const queryKey = ['policies', organization.id];
  const refresh = () => queryClient.invalidateQueries({ queryKey });
  const create = mayWrite ? <Button onClick={() => setEdited('new')}>{guardrails.create}</Button> : undefined;
  return (
    <Page title={guardrails.title} intro={guardrails.intro} action={create}>
      <ResourceTable<Policy>
        label={guardrails.title}
        queryKey={queryKey}
        fetchPage={(after) => body(api.GET('/v1/guardrail-policies', { params: { query: { after, limit: 50 } } }))}
        rowKey={(policy) => policy.id}
        empty={<EmptyState text={guardrails.empty}>{create}</EmptyState>}
        columns={[
          { heading: common.name, cell: (policy) => <Text fw={500}>{policy.name}</Text> },
          {
            heading: guardrails.enabled,
            cell: (policy) => (
              <Badge variant="light" color={policy.enabled ? 'teal' : 'gray'} tt="none">
                {policy.enabled ? '✓' : '–'}
              </Badge>
            ),
          },
          { heading: guardrails.block, cell: (policy) => (policy.block_on_flag ? '✓' : '–') },
          { heading: guardrails.topics, cell: (policy) => policy.topic_deny_list.length, isNumber: true },
          { heading: guardrails.applyTo, cell: (policy) => policy.apply_to.map((each) => guardrails[each]).join(', ') },
          {
            heading: common.actions,
            cell: (policy) => (
              <Group gap={4} wrap="nowrap">
                {mayWrite && (
                  <>
                    <Button size="compact-sm" variant="subtle" onClick={() => setTested(policy)}>
                      {guardrails.test}
                    </Button>
                    <Button size="compact-sm" variant="subtle" onClick={() => setEdited(policy)}>
                      {guardrails.edit}
                    </Button>
                    <ConfirmButton
                      label={common.delete}
                      title={`${common.delete}: ${policy.name}`}
                      text={guardrails.deleteText}
                      action={async () => {
                        await api.DELETE('/v1/guardrail-policies/{policy_id}', {
                          params: { path: { policy_id: policy.id } },
                        });
                        await refresh();
                      }}
                    />
                  </>
                )}
              </Group>
            ),
          },
        ]}
      />
      <Modal
        opened={edited !== null}
        onClose={() => setEdited(null)}
        title={edited === 'new' ? guardrails.create : guardrails.edit}
        size="lg"
      >
        {edited !== null && (
          <PolicyForm
            policy={edited === 'new' ? null : edited}
            onClose={() => setEdited(null)}
            onSaved={() => {
              setEdited(null);
              void refresh();
            }}
          />
        )}
      </Modal>
      <Modal
        opened={tested !== null}
        onClose={() => setTested(null)}
        title={`${guardrails.test}: ${tested?.name ?? ''}`}
        size="lg"
      >
        {tested !== null && <DryRun policy={tested} />}
      </Modal>
    </Page>
  );
}

/** The topics of the text field, one per line. */
function parseTopics(text: string): Policy['topic_deny_list'] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && line !== WARN_PREFIX)
    .map((line) =>
      line.startsWith(WARN_PREFIX)
        ? { topic: line.slice(WARN_PREFIX.length).trim(), action: 'warn' as const }
        : { topic: line, action: 'block' as const },
    );
}

const formatTopics = (topics: Policy['topic_deny_list']): string =>
  topics.map(({ topic, action }) => (action === 'warn' ? `${WARN_PREFIX}${topic}` : topic)).join('\n');

interface PolicyFormProps {
  policy: Policy | null;
  onClose(): void;
  onSaved(): void;
}

function PolicyForm({ policy, onClose, onSaved }: PolicyFormProps) {
  const { guardrails, common } = useMessages();
  const [name, setName] = useState(policy?.name ?? '');
  const [enabled, setEnabled] = useState(policy?.enabled ?? true);
  const [block, setBlock] = useState(policy?.block_on_flag ?? true);
  const [thresholds, setThresholds] = useState<Partial<Record<Category, number>>>(policy?.thresholds ?? {});
  const [topics, setTopics] = useState(formatTopics(policy?.topic_deny_list ?? []));
  const [direction, setDirection] = useState<Direction>(policy?.apply_to[0] ?? 'both');
  const mutation = useMutation({
    mutationFn: async () => {
      const request: PolicyBody = {
        name,
        enabled,
        block_on_flag: block,
        thresholds,
        topic_deny_list: parseTopics(topics),
        apply_to: [direction],
      };
      if (policy === null) return body(api.POST('/v1/guardrail-policies', { body: request }));
      return body(
        api.PUT('/v1/guardrail-policies/{policy_id}', { params: { path: { policy_id: policy.id } }, body: request }),
      );
    },
    onSuccess: onSaved,
  });
  return (
    <Form onCancel={onClose} mutation={mutation}>
      <TextInput
        label={common.name}
        required
        data-autofocus
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <Switch
        label={guardrails.enabled}
        checked={enabled}
        onChange={(event) => setEnabled(event.currentTarget.checked)}
      />
      <Switch
        label={guardrails.block}
        description={guardrails.blockHint}
        checked={block}
        onChange={(event) => setBlock(event.currentTarget.checked)}
      />
      <Select
        label={guardrails.applyTo}
        allowDeselect={false}
        data={(['both', 'input', 'output'] as const).map((value) => ({ value, label: guardrails[value] }))}
        value={direction}
        onChange={(value) => value !== null && setDirection(value as Direction)}
      />
      <div>
        <Text fw={500} size="sm">
          {guardrails.thresholds}
        </Text>
        <Text size="xs" c="dimmed" mb="xs">
          {guardrails.thresholdsHint}
        </Text>
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          {CATEGORIES.map((category) => (
            <div key={category}>
              <Text size="sm">
                {category}: {(thresholds[category] ?? DEFAULT_THRESHOLD).toFixed(2)}
              </Text>
              <Slider
                thumbLabel={category}
                min={0}
                max={1}
                step={0.05}
                value={thresholds[category] ?? DEFAULT_THRESHOLD}
                onChange={(value) => setThresholds({ ...thresholds, [category]: value })}
              />
            </div>
          ))}
        </SimpleGrid>
      </div>
      <Textarea
        label={guardrails.topics}
        description={guardrails.topicsHint}
        autosize
        minRows={4}
        maxRows={12}
        value={topics}
        onChange={(event) => setTopics(event.currentTarget.value)}
      />
    </Form>
  );
}
