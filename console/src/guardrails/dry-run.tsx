import { Badge, Button, Group, Mark, Paper, Progress, SegmentedControl, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { api, body } from '../api/client.ts';
import type { paths } from '../api/schema.d.ts';
import { TextAreaField } from '../ui/fields.tsx';
import { fill } from '../ui/language.tsx';
import { ErrorState } from '../ui/states.tsx';
import { ValidatedForm } from '../ui/validated-form.tsx';
import { useGuardrailMessages } from './messages.ts';
import type { Policy } from './policy.ts';
import { CATEGORIES } from './policy-form.tsx';

type Result =
  paths['/v1/guardrail-policies/{policy_id}/test']['post']['responses'][200]['content']['application/json']['results'][number];
type Stage = 'input' | 'output';

const ACTION_COLORS = { block: 'red', warn: 'orange', pass: 'teal' } as const;

/** Checks a text against a policy and shows scores and matches. */
export function DryRun({ policy }: { policy: Policy }) {
  const guardrails = useGuardrailMessages();
  const [input, setInput] = useState('');
  const [stage, setStage] = useState<Stage>('input');
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
        <SegmentedControl
          aria-label={guardrails.applyTo}
          w="fit-content"
          data={(['input', 'output'] as const).map((value) => ({ value, label: guardrails[value] }))}
          value={stage}
          onChange={(value) => setStage(value as Stage)}
        />
        <TextAreaField
          param="input"
          label={guardrails.testHint}
          autosize
          minRows={3}
          maxRows={10}
          required
          data-autofocus
          value={input}
          onChange={(event) => setInput(event.currentTarget.value)}
        />
        <Group justify="flex-end">
          <Button type="submit" loading={mutation.isPending}>
            {guardrails.runTest}
          </Button>
        </Group>
        {mutation.isError && <ErrorState error={mutation.error} />}
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
        <Badge variant="light" color={ACTION_COLORS[result.action]} tt="none">
          {guardrails.results[result.action]}
        </Badge>
        <Text size="sm">{result.reasons.join(' · ')}</Text>
      </Group>
      <Paper withBorder p="sm">
        <Text style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
          {markMatches(result.normalized_text, result.topics)}
        </Text>
      </Paper>
      {result.category_scores === null ? (
        <Text size="sm" c="dimmed">
          {guardrails.noScores}
        </Text>
      ) : (
        CATEGORIES.map((category) => (
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
  const isOff = threshold >= 1;
  const isFlagged = !isOff && score >= threshold;
  return (
    <div>
      <Group justify="space-between">
        <Text size="sm">{label}</Text>
        <Text size="sm" fw={isFlagged ? 700 : 400}>
          {isOff
            ? guardrails.off
            : fill(guardrails.score, { score: score.toFixed(2), threshold: threshold.toFixed(2) })}
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
