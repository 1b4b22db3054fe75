import { Button, Group, Select, Stack, Switch, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, body } from '../api/client.ts';
import { useMayWrite } from '../api/session.ts';
import type { Schema } from '../api/types.ts';
import { type Column, DataTable, numberColumn } from '../ui/data-table.tsx';
import { Modal } from '../ui/dialogs.tsx';
import { Fact } from '../ui/fact.tsx';
import { useFormat } from '../ui/format.ts';
import { EmptyState, QueryData } from '../ui/states.tsx';
import { ErrorText, Hint, Tag } from '../ui/text.tsx';
import { useEvaluationMessages } from './messages.ts';
import { type EditedSet, newSet } from './question-set-dialog.tsx';
import { pairResults, type ResultPair } from './questions.ts';
import { useDescribeSettings } from './run-settings-fields.tsx';

type Evaluation = Schema<'Evaluation'>;
type Comparison = Schema<'EvaluationComparison'>;

const PAGE_ITEMS = 100;
const CHANGE_COLORS = { better: 'teal', worse: 'red', same: 'gray' } as const;

/** Reads the results of all questions, a page at a time. */
async function readResults(kbId: string, evaluationId: string): Promise<Schema<'EvaluationResult'>[]> {
  const results: Schema<'EvaluationResult'>[] = [];
  for (let after: string | undefined; ; ) {
    const params = { path: { kb_id: kbId, evaluation_id: evaluationId }, query: { after, limit: PAGE_ITEMS } };
    const path = '/v1/knowledge-bases/{kb_id}/evaluations/{evaluation_id}/results';
    const page = await body(api.GET(path, { params }));
    results.push(...page.data);
    if (!page.has_more) return results;
    after = page.last_id ?? undefined;
  }
}

interface EvaluationDialogProps {
  kbId: string;
  evaluationId: string;
  onClose(): void;
  /** Opens the questions as a new set. */
  onSave(set: EditedSet): void;
}

/** The figures of a run, compared with another, and the results by question. */
export function EvaluationDialog({ kbId, evaluationId, onClose, onSave }: EvaluationDialogProps) {
  const texts = useEvaluationMessages();
  const params = { path: { kb_id: kbId, evaluation_id: evaluationId } };
  const run = useQuery({
    queryKey: ['evaluations', kbId, evaluationId],
    queryFn: () => body(api.GET('/v1/knowledge-bases/{kb_id}/evaluations/{evaluation_id}', { params })),
  });
  return (
    <Modal opened onClose={onClose} title={run.data?.name ?? texts.title} size="min(1200px, 95vw)">
      <QueryData query={run}>
        {(evaluation) => (
          <RunDetails
            kbId={kbId}
            run={evaluation}
            onSave={(set) => {
              onClose();
              onSave(set);
            }}
          />
        )}
      </QueryData>
    </Modal>
  );
}

function RunDetails({ kbId, run, onSave }: { kbId: string; run: Evaluation; onSave(set: EditedSet): void }) {
  const texts = useEvaluationMessages();
  const mayWrite = useMayWrite();
  const [baselineId, setBaselineId] = useState<string | null>(run.baseline_id ?? null);
  const comparison = useQuery({
    queryKey: ['evaluation-comparison', run.id, baselineId],
    enabled: baselineId !== null && run.status === 'completed',
    queryFn: () => {
      const params = { path: { kb_id: kbId, evaluation_id: run.id }, query: { baseline: baselineId ?? '' } };
      return body(api.GET('/v1/knowledge-bases/{kb_id}/evaluations/{evaluation_id}/compare', { params }));
    },
  });
  const compared = baselineId === null ? null : (comparison.data ?? null);
  const results = useQuery({
    queryKey: ['evaluation-results', run.id, compared?.baseline_id],
    queryFn: async () => ({
      now: await readResults(kbId, run.id),
      // The baseline may be of another knowledge base.
      before: compared === null ? [] : await readResults(compared.baseline_knowledge_base_id, compared.baseline_id),
    }),
  });
  const judged = compared?.judged ?? 'neither';
  return (
    <Stack>
      <RunFacts run={run} />
      <Group align="flex-end" justify="space-between">
        <BaselineField kbId={kbId} run={run} value={baselineId} onChange={setBaselineId} />
        {mayWrite && results.data !== undefined && (
          <Button variant="default" onClick={() => onSave(newSet(results.data.now.map(({ question }) => question)))}>
            {texts.saveAsSet}
          </Button>
        )}
      </Group>
      <MeasureTable run={run} comparison={compared} />
      {judged !== 'neither' && judged !== 'both' && <Hint>{texts.judged[judged]}</Hint>}
      {comparison.error !== null && <ErrorText>{comparison.error.message}</ErrorText>}
      <QueryData query={results}>
        {({ now, before }) => (
          <ResultTable
            key={compared?.baseline_id ?? ''}
            pairs={pairResults(now, before, judged === 'both')}
            isCompared={compared !== null}
          />
        )}
      </QueryData>
    </Stack>
  );
}

/** The settings of a run, its durations and its cost. */
function RunFacts({ run }: { run: Evaluation }) {
  const texts = useEvaluationMessages();
  const format = useFormat();
  const describeSettings = useDescribeSettings();
  const { retrieval, answer } = run.summary?.latency_ms ?? {};
  const facts = [
    ...describeSettings(run),
    ...(retrieval?.p50 == null ? [] : [[texts.searchDuration, format.duration(retrieval.p50)]]),
    ...(answer?.p50 == null ? [] : [[texts.answerDuration, format.duration(answer.p50)]]),
    [texts.cost, format.money(run.cost_micros)],
  ];
  return (
    <Group gap="xl">
      {facts.map(([label = '', value]) => (
        <Fact key={label} label={label}>
          {value}
        </Fact>
      ))}
    </Group>
  );
}

interface BaselineFieldProps {
  kbId: string;
  run: Evaluation;
  value: string | null;
  onChange(id: string | null): void;
}

/** Chooses the run to compare with. */
function BaselineField({ kbId, run, value, onChange }: BaselineFieldProps) {
  const texts = useEvaluationMessages();
  const format = useFormat();
  const runs = useQuery({
    queryKey: ['evaluations', kbId, 'baselines'],
    queryFn: () => {
      const query = { limit: 100, order: 'desc' as const };
      return body(api.GET('/v1/knowledge-bases/{kb_id}/evaluations', { params: { path: { kb_id: kbId }, query } }));
    },
  });
  const data = (runs.data?.data ?? [])
    .filter(({ id, status }) => id !== run.id && status === 'completed')
    .map(({ id, name, created_at: time }) => ({ value: id, label: `${name}, ${format.time(time)}` }));
  return <Select label={texts.compareWith} data={data} value={value} onChange={onChange} clearable miw={280} />;
}

function MeasureTable({ run, comparison }: { run: Evaluation; comparison: Comparison | null }) {
  const texts = useEvaluationMessages();
  const format = useFormat();
  type Row = { name: string; value: number };
  const names: Record<string, string> = texts.measures;
  const compared = (name: string) => comparison?.measures.find((measure) => measure.name === name);
  const percent = (value: number | undefined) => format.optionalPercent(value ?? null);
  const columns: Column<Row>[] = [
    { heading: texts.measure, cell: ({ name }) => names[name] ?? name },
    numberColumn(texts.value, ({ value }) => percent(value)),
  ];
  if (comparison !== null) {
    columns.push(
      numberColumn(texts.before, ({ name }) => percent(compared(name)?.baseline)),
      numberColumn(texts.difference, ({ name }) => {
        const one = compared(name);
        return one && `${percent(one.difference)} (${percent(one.low)} … ${percent(one.high)})`;
      }),
      {
        heading: texts.verdict,
        cell: ({ name }) => {
          const verdict = compared(name)?.verdict;
          if (verdict === undefined) return null;
          return <Tag color={CHANGE_COLORS[verdict === 'unclear' ? 'same' : verdict]}>{texts.verdicts[verdict]}</Tag>;
        },
      },
    );
  }
  const rows = (run.summary?.measures ?? []).map(({ name, value }) => ({ name, value }));
  return <DataTable<Row> label={texts.measure} columns={columns} items={rows} rowKey={({ name }) => name} />;
}

function ResultTable({ pairs, isCompared }: { pairs: readonly ResultPair[]; isCompared: boolean }) {
  const texts = useEvaluationMessages();
  const [isFiltered, setIsFiltered] = useState(isCompared);
  const shown = isCompared && isFiltered ? pairs.filter(({ change }) => change !== 'same') : pairs;
  const columns: Column<ResultPair>[] = [
    { heading: texts.question, cell: ({ now }) => <QuestionCell result={now} /> },
    { heading: isCompared ? texts.now : texts.answer, cell: ({ now }) => <ResultCell result={now} /> },
  ];
  if (isCompared) {
    columns.push(
      { heading: texts.before, cell: ({ before }) => before && <ResultCell result={before} /> },
      {
        heading: texts.verdict,
        cell: ({ change }) =>
          change === 'same' ? null : <Tag color={CHANGE_COLORS[change]}>{texts.verdicts[change]}</Tag>,
      },
    );
  }
  return (
    <Stack gap="xs">
      {isCompared && (
        <Switch
          label={texts.onlyChanges}
          checked={isFiltered}
          onChange={({ currentTarget }) => setIsFiltered(currentTarget.checked)}
        />
      )}
      {shown.length === 0 ? (
        <EmptyState text={texts.noChanges} />
      ) : (
        <DataTable<ResultPair> label={texts.questions} columns={columns} items={shown} rowKey={({ now }) => now.id} />
      )}
    </Stack>
  );
}

function QuestionCell({ result: { question } }: { result: Schema<'EvaluationResult'> }) {
  const texts = useEvaluationMessages();
  const facts = [...(question.answer === undefined ? [] : [question.answer]), ...(question.facts ?? [])];
  const expected = question.unanswerable ? texts.unanswerable : facts.map((fact) => String(fact)).join(' · ');
  return (
    <div style={{ minWidth: 200 }}>
      <Text size="sm" className="breakable">
        {question.question}
      </Text>
      <Hint className="breakable">{expected}</Hint>
    </div>
  );
}

function ResultCell({ result }: { result: Schema<'EvaluationResult'> }) {
  const { answer, evidence_ranks: ranks, error, judgement } = result;
  const texts = useEvaluationMessages();
  return (
    <Stack gap={2} style={{ minWidth: 200 }}>
      {ranks.length > 0 && (
        <Hint>
          {texts.rank}: {ranks.map((rank) => rank ?? texts.notFound).join(', ')}
        </Hint>
      )}
      {answer != null && (
        <Text size="sm" className="breakable" lineClamp={6}>
          {answer}
        </Text>
      )}
      {judgement !== null && <Score judgement={judgement} />}
      <ErrorText>{error?.message}</ErrorText>
    </Stack>
  );
}

const SCORE_COLORS = { right: 'teal', wrong: 'red', declined: 'gray', none: 'orange' } as const;

/** The score of the judge model with its reason. */
function Score({ judgement: { verdict, reason, error } }: { judgement: Schema<'Judgement'> }) {
  const texts = useEvaluationMessages();
  const score = verdict ?? 'none';
  return (
    <div>
      <Tag color={SCORE_COLORS[score]}>{texts.scores[score]}</Tag>
      <Hint className="breakable">{error?.message ?? reason}</Hint>
    </div>
  );
}
