import { Select, SimpleGrid, Slider, Switch, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../api/client.ts';
import { TextField } from '../ui/fields.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { useGuardrailMessages } from './messages.ts';
import type { Policy } from './policy.ts';
import { type TopicRow, TopicRows, toTopicRows, toTopics } from './topics.tsx';

type Category = keyof Policy['thresholds'];
type Direction = Policy['apply_to'][number];

/** The categories that moderation models score. */
export const CATEGORIES: readonly Category[] = ['harassment', 'hate', 'self_harm', 'sexual', 'violence'];
const DEFAULT_THRESHOLDS: Policy['thresholds'] = {
  harassment: 0.5,
  hate: 0.5,
  self_harm: 0.5,
  sexual: 0.5,
  violence: 0.5,
};

interface PolicyFields {
  name: string;
  enabled: boolean;
  block: boolean;
  direction: Direction;
  thresholds: Policy['thresholds'];
  topics: TopicRow[];
  lookalikes: boolean;
}

const toFields = (policy: Policy | null): PolicyFields => ({
  name: policy?.name ?? '',
  enabled: policy?.enabled ?? true,
  block: policy?.block_on_flag ?? true,
  direction: policy === null ? 'both' : policy.apply_to.length > 1 ? 'both' : (policy.apply_to[0] ?? 'input'),
  thresholds: policy?.thresholds ?? DEFAULT_THRESHOLDS,
  topics: toTopicRows(policy?.topic_deny_list ?? []),
  lookalikes: policy?.match_confusables ?? false,
});

/** Creates a policy, or changes one. Null: a new policy. */
export function PolicyDialog({ policy, onClose }: { policy: Policy | null; onClose(): void }) {
  const guardrails = useGuardrailMessages();
  const queryClient = useQueryClient();
  const [fields, setFields] = useState(() => toFields(policy));
  const set = (changes: Partial<PolicyFields>) => setFields({ ...fields, ...changes });
  const submit = async () => {
    const request = {
      name: fields.name,
      enabled: fields.enabled,
      block_on_flag: fields.block,
      thresholds: fields.thresholds,
      topic_deny_list: toTopics(fields.topics),
      match_confusables: fields.lookalikes,
      apply_to: [fields.direction],
    };
    if (policy === null) await api.POST('/v1/guardrail-policies', { body: request });
    else {
      const params = { path: { policy_id: policy.id } };
      await api.PUT('/v1/guardrail-policies/{policy_id}', { params, body: request });
    }
    await queryClient.invalidateQueries({ queryKey: ['policies'] });
  };
  const title = policy === null ? guardrails.create : guardrails.edit;
  return (
    <FormDialog title={title} size="lg" onClose={onClose} submit={submit}>
      <GeneralFields fields={fields} set={set} />
      <Thresholds value={fields.thresholds} onChange={(thresholds) => set({ thresholds })} />
      <TopicRows rows={fields.topics} onChange={(topics) => set({ topics })} />
      <Switch
        label={guardrails.lookalikes}
        description={guardrails.lookalikesHint}
        checked={fields.lookalikes}
        onChange={(event) => set({ lookalikes: event.currentTarget.checked })}
      />
    </FormDialog>
  );
}

function GeneralFields({ fields, set }: { fields: PolicyFields; set(changes: Partial<PolicyFields>): void }) {
  const guardrails = useGuardrailMessages();
  const common = useCommonMessages();
  return (
    <>
      <TextField
        param="name"
        label={common.name}
        required
        data-autofocus
        maxLength={256}
        value={fields.name}
        onChange={(event) => set({ name: event.currentTarget.value })}
      />
      <Switch
        label={guardrails.enabled}
        checked={fields.enabled}
        onChange={(event) => set({ enabled: event.currentTarget.checked })}
      />
      <Switch
        label={guardrails.block}
        description={guardrails.blockHint}
        checked={fields.block}
        onChange={(event) => set({ block: event.currentTarget.checked })}
      />
      <Select
        label={guardrails.applyTo}
        description={guardrails.applyToHint}
        allowDeselect={false}
        data={(['both', 'input', 'output'] as const).map((value) => ({ value, label: guardrails[value] }))}
        value={fields.direction}
        onChange={(value) => value !== null && set({ direction: value as Direction })}
      />
    </>
  );
}

interface ThresholdsProps {
  value: Policy['thresholds'];
  onChange(thresholds: Policy['thresholds']): void;
}

function Thresholds({ value, onChange }: ThresholdsProps) {
  const guardrails = useGuardrailMessages();
  return (
    <div>
      <Text fw={500} size="sm">
        {guardrails.thresholds}
      </Text>
      <Text size="xs" c="dimmed" mb="xs">
        {guardrails.thresholdsHint}
      </Text>
      <SimpleGrid cols={{ base: 1, sm: 2 }} verticalSpacing="md">
        {CATEGORIES.map((category) => (
          <div key={category}>
            <Text size="sm">
              {guardrails.categories[category]}: {value[category] >= 1 ? guardrails.off : value[category].toFixed(2)}
            </Text>
            <Text size="xs" c="dimmed">
              {guardrails.categoryHints[category]}
            </Text>
            <Slider
              mt={4}
              thumbLabel={guardrails.categories[category]}
              label={null}
              min={0}
              max={1}
              step={0.05}
              value={value[category]}
              onChange={(threshold) => onChange({ ...value, [category]: threshold })}
            />
          </div>
        ))}
      </SimpleGrid>
    </div>
  );
}
