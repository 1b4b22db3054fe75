import { Button, Stack, Table, Tabs } from '@mantine/core';
import { useState } from 'react';
import { api, body } from '../api/client.ts';
import type { Schema } from '../api/types.ts';
import { CheckboxField, ChoiceField, NameField, TextAreaField, TextField } from '../ui/fields.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { fill } from '../ui/language.tsx';
import { Hint } from '../ui/text.tsx';
import { useEvaluationMessages } from './messages.ts';
import { emptyRow, formatLines, fromRow, parseLines, type Question, type QuestionRow, toRow } from './questions.ts';
import { toConfigured, toSettings } from './run-settings.ts';
import { RunSettingsFields } from './run-settings-fields.tsx';

/** Rows that the table edits: more inputs would be slow. */
const MAX_ROWS = 100;
const SCHEDULES = ['never', 'after_sync', '1d', '7d'] as const;

/** A set to edit. `id` is null for a new one. */
export interface EditedSet {
  id: string | null;
  name: string;
  questions: readonly Question[];
  schedule: string | null;
  configuration: Schema<'EvaluationConfiguration'>;
  judge_model: string | null;
}

/** A new set with the questions. */
export const newSet = (questions: readonly Question[] = []): EditedSet => ({
  id: null,
  name: '',
  questions,
  schedule: null,
  configuration: {},
  judge_model: null,
});

interface QuestionSetDialogProps {
  kbId: string;
  set: EditedSet;
  onClose(): void;
}

/** Creates or changes a question set: its questions as a table or JSON lines, how they are run, and when. */
export function QuestionSetDialog({ kbId, set, onClose }: QuestionSetDialogProps) {
  const texts = useEvaluationMessages();
  const [name, setName] = useState(set.name);
  const [schedule, setSchedule] = useState(set.schedule ?? 'never');
  const [settings, setSettings] = useState(() => toSettings(set));
  const [questions, setQuestions] = useState<readonly Question[]>(set.questions);
  const [isValid, setIsValid] = useState(true);
  const submit = () => {
    const request = {
      name,
      questions: questions as Question[],
      ...toConfigured(settings),
      schedule: schedule === 'never' ? null : schedule,
    };
    const path = { kb_id: kbId };
    if (set.id === null)
      return body(api.POST('/v1/knowledge-bases/{kb_id}/question-sets', { params: { path }, body: request }));
    const params = { path: { ...path, question_set_id: set.id } };
    return body(api.PATCH('/v1/knowledge-bases/{kb_id}/question-sets/{question_set_id}', { params, body: request }));
  };
  const title = set.id === null ? texts.newSet : texts.editSet;
  const dialog = { title, onClose, submit, refreshes: ['question-sets'], size: 'xl' };
  return (
    <FormDialog {...dialog} isValid={isValid && questions.length > 0}>
      <NameField value={name} onChange={setName} required />
      <QuestionEditor
        initial={set.questions}
        onChange={(changed, valid) => {
          setQuestions(changed);
          setIsValid(valid);
        }}
      />
      <RunSettingsFields settings={settings} onChange={setSettings} />
      <ChoiceField
        label={texts.schedule}
        values={
          SCHEDULES.includes(schedule as never) ? SCHEDULES : [...SCHEDULES, schedule as (typeof SCHEDULES)[number]]
        }
        labels={texts.schedules}
        value={schedule as (typeof SCHEDULES)[number]}
        onChange={setSchedule}
      />
    </FormDialog>
  );
}

interface QuestionEditorProps {
  initial: readonly Question[];
  onChange(questions: readonly Question[], isValid: boolean): void;
}

function QuestionEditor({ initial, onChange }: QuestionEditorProps) {
  const texts = useEvaluationMessages();
  const [rows, setRows] = useState<QuestionRow[]>(() => (initial.length === 0 ? [emptyRow()] : initial.map(toRow)));
  const [lines, setLines] = useState(() => formatLines(initial));
  const { badLine } = parseLines(lines);
  const changeRows = (changed: QuestionRow[]) => {
    setRows(changed);
    const questions = changed.map(fromRow).filter(({ question }) => question !== '');
    setLines(formatLines(questions));
    onChange(questions, true);
  };
  const changeLines = (text: string) => {
    setLines(text);
    const parsed = parseLines(text);
    if (parsed.badLine === null) setRows(parsed.questions.map(toRow));
    onChange(parsed.questions, parsed.badLine === null);
  };
  return (
    <Tabs defaultValue={rows.length > MAX_ROWS ? 'lines' : 'table'} keepMounted={false}>
      <Tabs.List mb="sm">
        <Tabs.Tab value="table">{texts.questions}</Tabs.Tab>
        <Tabs.Tab value="lines">{texts.jsonl}</Tabs.Tab>
      </Tabs.List>
      <Tabs.Panel value="table">
        {rows.length > MAX_ROWS ? (
          <Hint>{fill(texts.tooManyRows, { limit: MAX_ROWS })}</Hint>
        ) : (
          <QuestionTable rows={rows} onChange={changeRows} />
        )}
      </Tabs.Panel>
      <Tabs.Panel value="lines">
        <TextAreaField
          label={texts.jsonl}
          description={texts.jsonlHint}
          param="questions"
          autosize
          minRows={6}
          maxRows={16}
          value={lines}
          onChange={changeLines}
          error={badLine === null ? undefined : fill(texts.badLine, { line: badLine })}
          styles={{ input: { fontFamily: 'monospace' } }}
        />
      </Tabs.Panel>
    </Tabs>
  );
}

function QuestionTable({ rows, onChange }: { rows: QuestionRow[]; onChange(rows: QuestionRow[]): void }) {
  const texts = useEvaluationMessages();
  const change = (key: number, changes: Partial<QuestionRow>) =>
    onChange(rows.map((row) => (row.key === key ? { ...row, ...changes } : row)));
  return (
    <Stack gap="xs">
      <Hint>{texts.factsHint}</Hint>
      <Table.ScrollContainer minWidth={640} mah={420}>
        <Table aria-label={texts.questions} withRowBorders={false} verticalSpacing={4}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th w="36%">{texts.question}</Table.Th>
              <Table.Th w="26%">{texts.facts}</Table.Th>
              <Table.Th>{texts.document}</Table.Th>
              <Table.Th>{texts.unanswerable}</Table.Th>
              <Table.Td />
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {rows.map((row, index) => (
              <QuestionCells
                key={row.key}
                row={row}
                number={index + 1}
                onChange={(changes) => change(row.key, changes)}
                onRemove={() => onChange(rows.filter(({ key }) => key !== row.key))}
              />
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      <Button variant="default" size="xs" w="fit-content" onClick={() => onChange([...rows, emptyRow()])}>
        {texts.addQuestion}
      </Button>
    </Stack>
  );
}

interface QuestionCellsProps {
  row: QuestionRow;
  number: number;
  onChange(changes: Partial<QuestionRow>): void;
  onRemove(): void;
}

function QuestionCells({ row, number, onChange, onRemove }: QuestionCellsProps) {
  const texts = useEvaluationMessages();
  const label = (name: string) => ({ 'aria-label': `${name} ${number}` });
  return (
    <Table.Tr style={{ verticalAlign: 'top' }}>
      <Table.Td>
        <TextAreaField
          {...label(texts.question)}
          autosize
          value={row.question}
          onChange={(question) => onChange({ question })}
        />
      </Table.Td>
      <Table.Td>
        <TextAreaField
          {...label(texts.facts)}
          autosize
          disabled={row.unanswerable}
          value={row.facts}
          onChange={(facts) => onChange({ facts })}
        />
      </Table.Td>
      <Table.Td>
        <TextField
          {...label(texts.document)}
          disabled={row.unanswerable}
          value={row.document}
          onChange={(document) => onChange({ document })}
        />
      </Table.Td>
      <Table.Td>
        <CheckboxField
          {...label(texts.unanswerable)}
          mt={8}
          checked={row.unanswerable}
          onChange={(unanswerable) => onChange({ unanswerable })}
        />
      </Table.Td>
      <Table.Td>
        <Button {...label(texts.remove)} variant="subtle" color="red" size="compact-sm" mt={4} onClick={onRemove}>
          {texts.remove}
        </Button>
      </Table.Td>
    </Table.Tr>
  );
}
