import { Alert, Button, Group, Progress, Stack, Text, Title } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, body } from '../api/client.ts';
import { useMayWrite } from '../api/session.ts';
import type { Schema } from '../api/types.ts';
import { ConfirmButton, FailureDialog, RowButton } from '../ui/confirm.tsx';
import { type Column, numberColumn } from '../ui/data-table.tsx';
import { DialogButton } from '../ui/form-dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { fill } from '../ui/language.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { ResourceTable } from '../ui/resource-table.tsx';
import { StatusBadge } from '../ui/status-badge.tsx';
import { ErrorText, Hint, ItemName, Tag } from '../ui/text.tsx';
import { EvaluationDialog } from './evaluation-dialog.tsx';
import { useEvaluationMessages } from './messages.ts';
import { type EditedSet, newSet, QuestionSetDialog } from './question-set-dialog.tsx';
import { GenerateDialog, RunDialog } from './run-dialog.tsx';
import { useDescribeSettings } from './run-settings-fields.tsx';

type ListedSet = Schema<'ListedQuestionSet'>;
type Evaluation = Schema<'Evaluation'>;

/** Interval of the list of runs: their progress changes by itself. */
const REFRESH_MS = 2_000;
const VERDICT_COLORS = { better: 'teal', worse: 'red', mixed: 'orange', unclear: 'gray' } as const;

/** The question sets and the runs of a knowledge base. */
export function Evaluations({ kbId }: { kbId: string }) {
  const texts = useEvaluationMessages();
  const mayWrite = useMayWrite();
  const [edited, setEdited] = useState<EditedSet | null>(null);
  return (
    <Stack>
      <Hint>{texts.intro}</Hint>
      <WorseSets kbId={kbId} />
      <Title order={2} size="h4">
        {texts.sets}
      </Title>
      {mayWrite && (
        <Group>
          <Button onClick={() => setEdited(newSet())}>{texts.newSet}</Button>
          <DialogButton label={texts.generate} variant="default">
            {(close) => <GenerateDialog kbId={kbId} onClose={close} />}
          </DialogButton>
        </Group>
      )}
      <QuestionSets kbId={kbId} onEdit={setEdited} />
      <Title order={2} size="h4" mt="md">
        {texts.runs}
      </Title>
      <Runs kbId={kbId} onSave={setEdited} />
      {edited !== null && <QuestionSetDialog kbId={kbId} set={edited} onClose={() => setEdited(null)} />}
    </Stack>
  );
}

const listSets = (kbId: string, query: { after?: string | undefined; limit: number }) =>
  api.GET('/v1/knowledge-bases/{kb_id}/question-sets', { params: { path: { kb_id: kbId }, query } });

/** Warns of sets whose newest run is worse than the one before. */
function WorseSets({ kbId }: { kbId: string }) {
  const texts = useEvaluationMessages();
  const sets = useQuery({
    queryKey: ['question-sets', kbId, 'worse'],
    queryFn: () => body(listSets(kbId, { limit: 100 })),
    refetchInterval: REFRESH_MS,
  });
  const worse = (sets.data?.data ?? []).filter(({ last_verdict: verdict }) => verdict === 'worse');
  return worse.map(({ id, name }) => (
    <Alert key={id} color="red" role="alert">
      {fill(texts.worse, { name })}
    </Alert>
  ));
}

function QuestionSets({ kbId, onEdit }: { kbId: string; onEdit(set: EditedSet): void }) {
  const texts = useEvaluationMessages();
  const common = useCommonMessages();
  const format = useFormat();
  const mayWrite = useMayWrite();
  const schedules: Record<string, string> = texts.schedules;
  const columns: Column<ListedSet>[] = [
    { heading: common.name, cell: ({ name, configuration: { model } }) => <ItemName name={name} note={model} /> },
    numberColumn(texts.questions, ({ question_count: count }) => format.number(count)),
    { heading: texts.schedule, cell: ({ schedule }) => schedules[schedule ?? 'never'] ?? schedule },
    { heading: texts.verdict, cell: ({ last_verdict: verdict }) => <VerdictTag verdict={verdict} /> },
  ];
  return (
    <ResourceTable<ListedSet>
      label={texts.sets}
      queryKey={['question-sets', kbId]}
      fetchPage={(page) => listSets(kbId, page)}
      refreshMs={REFRESH_MS}
      empty={texts.noSets}
      columns={columns}
      {...(mayWrite && {
        mainAction: (set) => <StartRun kbId={kbId} set={set} />,
        actions: (set) => <SetActions kbId={kbId} set={set} onEdit={onEdit} />,
      })}
    />
  );
}

function SetActions({ kbId, set, onEdit }: { kbId: string; set: ListedSet; onEdit(set: EditedSet): void }) {
  const texts = useEvaluationMessages();
  const common = useCommonMessages();
  const params = { path: { kb_id: kbId, question_set_id: set.id } };
  const open = useMutation({
    mutationFn: () => body(api.GET('/v1/knowledge-bases/{kb_id}/question-sets/{question_set_id}', { params })),
    onSuccess: (loaded) => onEdit(loaded),
  });
  return (
    <>
      <RowButton label={texts.edit} name={set.name} loading={open.isPending} onClick={() => open.mutate()} />
      <ConfirmButton
        label={common.delete}
        name={set.name}
        text={texts.deleteSet}
        action={() => api.DELETE('/v1/knowledge-bases/{kb_id}/question-sets/{question_set_id}', { params })}
        refreshes={['question-sets']}
      />
      <FailureDialog title={set.name} mutation={open} />
    </>
  );
}

/** Opens the dialog that runs a set. */
function StartRun({ kbId, set }: { kbId: string; set: ListedSet }) {
  const texts = useEvaluationMessages();
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <RowButton label={texts.run} name={set.name} onClick={() => setOpen(true)} />
      {isOpen && <RunDialog kbId={kbId} set={set} onClose={() => setOpen(false)} />}
    </>
  );
}

function Runs({ kbId, onSave }: { kbId: string; onSave(set: EditedSet): void }) {
  const texts = useEvaluationMessages();
  const common = useCommonMessages();
  const format = useFormat();
  const mayWrite = useMayWrite();
  const settings = useDescribeSettings();
  const describeSettings = (run: Parameters<typeof settings>[0]) => settings(run).map((pair) => pair.join(': '));
  const defaults = describeSettings({});
  const describeRun = (run: Evaluation) =>
    [format.time(run.created_at), ...describeSettings(run).filter((text) => !defaults.includes(text))].join(' · ');
  const [shownId, setShownId] = useState<string | null>(null);
  const measure = (name: keyof typeof texts.measures) =>
    numberColumn<Evaluation>(texts.measures[name], ({ summary }) =>
      format.optionalPercent(summary?.measures.find((one) => one.name === name)?.value ?? null),
    );
  const columns: Column<Evaluation>[] = [
    { heading: common.name, cell: (run) => <ItemName name={run.name} note={describeRun(run)} /> },
    { heading: common.status, cell: (run) => <RunStatus run={run} /> },
    measure('recall@5'),
    measure('answers_correct'),
    measure('answers_wrong'),
    { heading: texts.verdict, cell: ({ comparison }) => <VerdictTag verdict={comparison?.verdict ?? null} /> },
  ];
  return (
    <>
      <ResourceTable<Evaluation>
        label={texts.runs}
        queryKey={['evaluations', kbId]}
        fetchPage={(page) => {
          const query = { ...page, order: 'desc' as const };
          return api.GET('/v1/knowledge-bases/{kb_id}/evaluations', { params: { path: { kb_id: kbId }, query } });
        }}
        refreshMs={REFRESH_MS}
        empty={texts.noRuns}
        columns={columns}
        mainAction={(run) => <RowButton label={texts.show} name={run.name} onClick={() => setShownId(run.id)} />}
        actions={mayWrite ? (run) => <EndRun kbId={kbId} run={run} /> : null}
      />
      {shownId !== null && (
        <EvaluationDialog kbId={kbId} evaluationId={shownId} onClose={() => setShownId(null)} onSave={onSave} />
      )}
    </>
  );
}

function RunStatus({ run: { status, question_counts: counts, error } }: { run: Evaluation }) {
  const texts = useEvaluationMessages();
  const format = useFormat();
  const done = counts.completed + counts.failed + counts.dropped;
  if (status !== 'running' && status !== 'queued') {
    return (
      <Stack gap={2}>
        <StatusBadge status={status} />
        <ErrorText>{error?.message}</ErrorText>
      </Stack>
    );
  }
  const label = fill(texts.progress, { done: format.number(done), total: format.number(counts.total) });
  return (
    <div style={{ minWidth: 120 }}>
      <Text size="xs">{label}</Text>
      <Progress value={(100 * done) / Math.max(1, counts.total)} aria-label={label} animated />
    </div>
  );
}

/** Cancels a run, or deletes one that has ended. */
function EndRun({ kbId, run }: { kbId: string; run: Evaluation }) {
  const texts = useEvaluationMessages();
  const common = useCommonMessages();
  const params = { path: { kb_id: kbId, evaluation_id: run.id } };
  const isRunning = run.status === 'running' || run.status === 'queued';
  const path = '/v1/knowledge-bases/{kb_id}/evaluations/{evaluation_id}';
  return (
    <ConfirmButton
      label={isRunning ? common.cancel : common.delete}
      name={run.name}
      text={isRunning ? texts.cancelText : texts.deleteRun}
      action={() => (isRunning ? api.POST(`${path}/cancel`, { params }) : api.DELETE(path, { params }))}
      refreshes={['evaluations', 'question-sets']}
    />
  );
}

/** The verdict of a comparison; nothing without one. */
export function VerdictTag({ verdict }: { verdict: keyof typeof VERDICT_COLORS | null }) {
  const texts = useEvaluationMessages();
  return verdict === null ? null : <Tag color={VERDICT_COLORS[verdict]}>{texts.verdicts[verdict]}</Tag>;
}
