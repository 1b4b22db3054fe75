import { Button, Group, Mark, Paper, Progress, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { api, body } from '../api/client.ts';
import type { Schema } from '../api/types.ts';
import { MODERATION_CATEGORIES } from '../api/values.ts';
import { TextAreaField } from '../ui/fields.tsx';
import { useFormat } from '../ui/format.ts';
import { fill } from '../ui/language.tsx';
import { Segments } from '../ui/segments.tsx';
import { MutationError } from '../ui/states.tsx';
import { Hint, Tag } from '../ui/text.tsx';
import { ValidatedForm } from '../ui/validated-form.tsx';
import { useGuardrailMessages } from './messages.ts';
import type { Policy } from './policy.ts';

type Result = Schema<'PolicyTestResult'>;
const STAGES = ['input', 'output'] as const;

const ACTION_COLORS = { block: 'red', warn: 'orange', pass: 'teal' } as const;

/** Checks a text against a policy and shows scores and matches. */
export function DryRun({ policy }: { policy: Policy }) {
  const guardrails = useGuardrailMessages();
  const [input, setInput] = useState('');
  const [stage, setStage] = useState<(typeof STAGES)[number]>('input');
  const mutation = useMutation({
    mutationFn: () => {
      const params = { path: { policy_id: policy.id } };
      return body(api.POST('/v1/guardrail-policies/{policy_id}/test', { params, body: { input, stage } }));
    },
  });
  const [result] = mutation.data?.results ?? [];
  return (
    <ValidatedForm mutation={mutation}>
      <Stack>
        <Segments label={guardrails.applyTo} values={STAGES} labels={guardrails} value={stage} onChange={setStage} />
        <TextAreaField
          param="input"
          label={guardrails.testHint}
          autosize
          minRows={3}
          maxRows={10}
          required
          data-autofocus
          value={input}
          onChange={setInput}
        />
        <Group justify="flex-end">
          <Button type="submit" loading={mutation.isPending}>
            {guardrails.runTest}
          </Button>
        </Group>
        <MutationError mutation={mutation} />
        {result !== undefined && <TestResult policy={policy} result={result} />}
      </Stack>
    </ValidatedForm>
  );
}

function TestResult({ policy, result }: { policy: Policy; result: Result }) {
  const guardrails = useGuardrailMessages();
  return (
    <Stack gap="sm" aria-live="polite">
      <Group gap="xs">
        <Tag color={ACTION_COLORS[result.action]}>{guardrails.results[result.action]}</Tag>
        <Text size="sm">{result.reasons.join(' · ')}</Text>
      </Group>
      <Paper withBorder p="sm">
        <Text className="plain-text">{markMatches(result.normalized_text, result.topics)}</Text>
      </Paper>
      {result.category_scores === null ? (
        <Hint>{guardrails.noScores}</Hint>
      ) : (
        MODERATION_CATEGORIES.map((category) => (
          <CategoryScore
            key={category}
            label={guardrails.categories[category]}
            score={Number(result.category_scores?.[category] ?? 0)}
            threshold={policy.thresholds[category]}
          />
        ))
      )}
    </Stack>
  );
}

function CategoryScore({ label, score, threshold }: { label: string; score: number; threshold: number }) {
  const guardrails = useGuardrailMessages();
  const format = useFormat();
  const isOff = threshold >= 1;
  const isFlagged = !isOff && score >= threshold;
  return (
    <div>
      <Group justify="space-between">
        <Text size="sm">{label}</Text>
        <Text size="sm" fw={isFlagged ? 700 : 400}>
          {isOff
            ? guardrails.off
            : fill(guardrails.score, { score: format.score(score), threshold: format.score(threshold) })}
        </Text>
      </Group>
      <Progress value={score * 100} color={isFlagged ? 'red' : 'gray'} aria-label={label} />
    </div>
  );
}

/** Marks the spans of matches; overlapping ones are joined. */
function markMatches(text: string, matches: Result['topics']): ReactNode[] {
  const sorted = [...matches].sort((a, b) => a.start_index - b.start_index);
  const parts: ReactNode[] = [];
  let at = 0;
  for (const { start_index, end_index, action } of sorted) {
    const start = Math.max(at, start_index);
    if (end_index <= start) continue;
    parts.push(
      text.slice(at, start),
      <Mark key={start} color={action === 'block' ? 'red' : 'yellow'}>
        {text.slice(start, end_index)}
      </Mark>,
    );
    at = end_index;
  }
  return [...parts, text.slice(at)];
}
