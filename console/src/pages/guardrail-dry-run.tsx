import { Badge, Button, Group, Mark, Stack, Text, Textarea } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { api, body } from '../api/client.ts';
import { ErrorState } from '../components/states.tsx';
import { useMessages } from '../messages/index.tsx';
import type { Policy } from './guardrails.tsx';

interface Match {
  start_index: number;
  end_index: number;
}

/** Checks a text against a policy and shows scores and matches. */
export function DryRun({ policy }: { policy: Policy }) {
  const { guardrails } = useMessages();
  const [input, setInput] = useState('');
  const mutation = useMutation({
    mutationFn: () =>
      body(
        api.POST('/v1/guardrail-policies/{policy_id}/test', {
          params: { path: { policy_id: policy.id } },
          body: { input },
        }),
      ),
  });
  const [result] = mutation.data?.results ?? [];
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        mutation.mutate();
      }}
    >
      <Stack>
        <Textarea
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
        {result !== undefined && (
          <Stack gap="xs" aria-live="polite">
            <Group gap="xs">
              <Badge color={result.action === 'block' ? 'red' : result.action === 'warn' ? 'orange' : 'teal'} tt="none">
                {result.action}
              </Badge>
              <Text size="sm">{result.reasons.join(' · ')}</Text>
            </Group>
            {result.category_scores !== null && (
              <Text size="sm" c="dimmed">
                {Object.entries(result.category_scores)
                  .map(([category, score]) => `${category} ${Number(score).toFixed(2)}`)
                  .join(' · ')}
              </Text>
            )}
            <Text style={{ whiteSpace: 'pre-wrap' }}>{markMatches(result.normalized_text, result.topics)}</Text>
          </Stack>
        )}
      </Stack>
    </form>
  );
}

/** Marks the spans of matches; overlapping ones are joined. */
function markMatches(text: string, matches: readonly Match[]): ReactNode[] {
  const sorted = [...matches].sort((a, b) => a.start_index - b.start_index);
  const parts: ReactNode[] = [];
  let at = 0;
  for (const { start_index, end_index } of sorted) {
    const start = Math.max(at, start_index);
    if (end_index <= start) continue;
    parts.push(text.slice(at, start), <Mark key={start}>{text.slice(start, end_index)}</Mark>);
    at = end_index;
  }
  return [...parts, text.slice(at)];
}
