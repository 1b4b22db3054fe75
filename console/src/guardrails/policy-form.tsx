import { SimpleGrid, Slider, Text } from '@mantine/core';
import { useState } from 'react';
import { api } from '../api/client.ts';
import { DIRECTIONS, MODERATION_CATEGORIES, POLICY_NAME } from '../api/values.ts';
import { ChoiceField, NameField, SwitchField } from '../ui/fields.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { Hint } from '../ui/text.tsx';
import { useGuardrailMessages } from './messages.ts';
import type { Policy } from './policy.ts';
import { type TopicRow, TopicRows, toTopicRows, toTopics } from './topics.tsx';

type Direction = (typeof DIRECTIONS)[number];

const DEFAULT_THRESHOLD = 0.5;
const DEFAULT_THRESHOLDS = Object.fromEntries(
  MODERATION_CATEGORIES.map((category) => [category, DEFAULT_THRESHOLD]),
) as Policy['thresholds'];

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
  };
  const title = policy === null ? guardrails.create : guardrails.edit;
  return (
    <FormDialog
      title={title}
      isNew={policy === null}
      size="lg"
      onClose={onClose}
      submit={submit}
      refreshes={['policies']}
    >
      <GeneralFields fields={fields} set={set} />
      <Thresholds value={fields.thresholds} onChange={(thresholds) => set({ thresholds })} />
      <TopicRows rows={fields.topics} onChange={(topics) => set({ topics })} />
      <SwitchField
        label={guardrails.lookalikes}
        description={guardrails.lookalikesHint}
        checked={fields.lookalikes}
        onChange={(lookalikes) => set({ lookalikes })}
      />
    </FormDialog>
  );
}

function GeneralFields({ fields, set }: { fields: PolicyFields; set(changes: Partial<PolicyFields>): void }) {
  const guardrails = useGuardrailMessages();
  return (
    <>
      <NameField {...POLICY_NAME} value={fields.name} onChange={(name) => set({ name })} />
      <SwitchField label={guardrails.enabled} checked={fields.enabled} onChange={(enabled) => set({ enabled })} />
      <SwitchField
        label={guardrails.block}
        description={guardrails.blockHint}
        checked={fields.block}
        onChange={(block) => set({ block })}
      />
      <ChoiceField
        label={guardrails.applyTo}
        description={guardrails.applyToHint}
        values={DIRECTIONS}
        labels={guardrails}
        value={fields.direction}
        onChange={(direction) => set({ direction })}
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
  const format = useFormat();
  return (
    <div>
      <Text fw={500} size="sm">
        {guardrails.thresholds}
      </Text>
      <Hint mb="xs">{guardrails.thresholdsHint}</Hint>
      <SimpleGrid cols={{ base: 1, sm: 2 }} verticalSpacing="md">
        {MODERATION_CATEGORIES.map((category) => (
          <div key={category}>
            <Text size="sm">
              {guardrails.categories[category]}: {value[category] >= 1 ? guardrails.off : format.score(value[category])}
            </Text>
            <Hint size="xs">{guardrails.categoryHints[category]}</Hint>
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
