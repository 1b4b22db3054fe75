import { Button, CloseButton, Group, Stack, Text } from '@mantine/core';
import { TOPIC, TOPIC_ACTIONS } from '../api/values.ts';
import { ChoiceField, TextField } from '../ui/fields.tsx';
import { focusOnMount } from '../ui/focus-on-mount.ts';
import { fill } from '../ui/language.tsx';
import { Hint } from '../ui/text.tsx';
import { useGuardrailMessages } from './messages.ts';
import type { Policy } from './policy.ts';

type TopicRule = Policy['topic_deny_list'][number];

/** A topic in the form. `row` identifies it while its text changes. */
export interface TopicRow extends TopicRule {
  row: number;
}

/** The rows of topics. */
export const toTopicRows = (topics: readonly TopicRule[]): TopicRow[] =>
  topics.map((topic, index) => ({ ...topic, row: index }));

/** The topics of rows; rows without a text are left out. */
export const toTopics = (rows: readonly TopicRow[]): TopicRule[] =>
  rows.flatMap(({ topic, action }) => (topic.trim() === '' ? [] : [{ topic: topic.trim(), action }]));

/** The path of a row in the request, which leaves out empty rows. */
const topicParam = (rows: readonly TopicRow[], index: number): string =>
  rows[index]?.topic.trim() === '' ? '' : `topic_deny_list.${toTopics(rows.slice(0, index)).length}`;

/** Edits the denied topics: a row for each, with its action. */
export function TopicRows({ rows, onChange }: { rows: readonly TopicRow[]; onChange(rows: TopicRow[]): void }) {
  const guardrails = useGuardrailMessages();
  const change = (row: number, changes: Partial<TopicRule>) =>
    onChange(rows.map((each) => (each.row === row ? { ...each, ...changes } : each)));
  const add = () => {
    const row = Math.max(-1, ...rows.map((each) => each.row)) + 1;
    onChange([...rows, { topic: '', action: 'block', row }]);
  };
  return (
    <Stack gap="xs" role="group" aria-label={guardrails.topics}>
      <div>
        <Text fw={500} size="sm">
          {guardrails.topics}
        </Text>
        <Hint>{guardrails.topicsHint}</Hint>
      </div>
      {rows.map(({ row, topic, action }, index) => (
        <Group key={row} gap="xs" wrap="nowrap">
          <TextField
            param={topicParam(rows, index)}
            aria-label={fill(guardrails.topicNumber, { number: index + 1 })}
            style={{ flex: 1 }}
            {...TOPIC}
            ref={topic === '' ? focusOnMount : undefined}
            value={topic}
            onChange={(text) => change(row, { topic: text })}
          />
          <ChoiceField
            aria-label={fill(guardrails.topicAction, { number: index + 1 })}
            w={120}
            values={TOPIC_ACTIONS}
            labels={guardrails.actions}
            value={action}
            onChange={(value) => change(row, { action: value })}
          />
          <CloseButton
            aria-label={fill(guardrails.removeTopic, { number: index + 1 })}
            onClick={() => onChange(rows.filter((each) => each.row !== row))}
          />
        </Group>
      ))}
      <Button variant="default" size="xs" w="fit-content" onClick={add}>
        {guardrails.addTopic}
      </Button>
    </Stack>
  );
}
