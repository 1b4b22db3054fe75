import { readJsonLines } from '../../bench/harness/data-set.ts';
import { countColumn, type MetricRow, type MetricTable, metricColumn } from '../../bench/harness/metric-table.ts';
import type { ServiceClient } from '../../bench/harness/service-client.ts';
import { mean } from '../../bench/harness/statistics.ts';
import {
  MODERATION_CATEGORIES,
  type ModerationCategory,
  type ModerationScores,
} from '../../src/engines/moderation-engine.ts';
import { areaUnderPrecisionRecall, areaUnderRoc, atThreshold, type ScoredText } from '../measures/classification.ts';
import { isFlagged, moderateTexts, THRESHOLD } from './moderation-client.ts';

/** Files of the sets, relative to the data folder. */
export const FILES = {
  openai: 'moderation/openai_eval_1680.dev.jsonl.gz',
  hatecheck: 'moderation/hatecheck.dev.jsonl.gz',
  xstest: 'moderation/xstest.dev.jsonl.gz',
} as const;

/** Labels of the categories in which a text of the first set is annotated, including sub-categories. */
const ALL_LABELS = 8;
/** Lower bounds of the score ranges of the calibration table. */
const RANGES = [0, 0.1, 0.3, 0.5, 0.7, 0.9] as const;

/** The baseline: one score for all categories. */
export type Baseline = ((text: string) => number) | null;

interface Labelled {
  text: string;
  labels: Readonly<Record<string, number>>;
}

interface Case extends Labelled {
  functionality: string;
}

/** OpenAI evaluation set: ranking per category, rates at 0.5, and calibration. */
export async function judgeOpenai(service: ServiceClient, data: string, baseline: Baseline): Promise<MetricTable[]> {
  const rows = readJsonLines<Labelled>(data, FILES.openai);
  const scores = await moderateTexts(service, texts(rows), 'openai_eval');
  const compared = rows.map(({ text }) => baseline?.(text) ?? Number.NaN);
  const ranked: MetricRow[] = [];
  const claimed: MetricRow[] = [];
  for (const category of MODERATION_CATEGORIES) {
    const scoredTexts = judgedIn(rows, category, (at) => scores[at]?.[category] ?? Number.NaN);
    const others = judgedIn(rows, category, (at) => compared[at] ?? Number.NaN);
    const { precision, recall, falseAlarms } = atThreshold(scoredTexts, THRESHOLD);
    const harmful = scoredTexts.filter(({ isPositive }) => isPositive).length;
    const ranking = [areaUnderPrecisionRecall(scoredTexts), areaUnderRoc(scoredTexts)];
    const besides = baseline === null ? [null, null] : [areaUnderPrecisionRecall(others), areaUnderRoc(others)];
    ranked.push({
      name: category,
      cells: [scoredTexts.length, harmful, ...ranking, ...besides, precision, recall, falseAlarms],
    });
    claimed.push({ name: category, cells: calibration(scoredTexts) });
  }
  return [
    {
      title: 'OpenAI evaluation set, dev',
      subject: 'category',
      columns: [
        countColumn('labelled'),
        countColumn('harmful'),
        ...[
          'AUPRC',
          'AUROC',
          'word weights: AUPRC',
          'AUROC of them',
          'at 0.5: precision',
          'recall',
          'false alarms',
        ].map(metricColumn),
      ],
      rows: ranked,
    },
    { title: 'Share that is harmful, by score', subject: 'category', columns: RANGES.map(rangeColumn), rows: claimed },
    harmless(rows, scores),
  ];
}

function judgedIn(
  rows: readonly Labelled[],
  category: ModerationCategory,
  scoreOf: (at: number) => number,
): ScoredText[] {
  return rows.flatMap(({ labels }, at) =>
    labels[category] === undefined ? [] : [{ score: scoreOf(at), isPositive: labels[category] > 0 }],
  );
}

function rangeColumn(low: number, at: number): ReturnType<typeof metricColumn> {
  return { name: `${low.toFixed(1)} to ${(RANGES[at + 1] ?? 1).toFixed(1)}`, digits: 2 };
}

function calibration(scoredTexts: readonly ScoredText[]): number[] {
  return RANGES.map((low, at) => {
    const inside = scoredTexts.filter(
      ({ score }) => score >= low && score < (RANGES[at + 1] ?? Number.POSITIVE_INFINITY),
    );
    return mean(inside.map(({ isPositive }) => (isPositive ? 1 : 0)));
  });
}

function harmless(rows: readonly Labelled[], scores: readonly ModerationScores[]): MetricTable {
  const flags = rows.flatMap(({ labels }, at) => {
    const values = Object.values(labels);
    const own = scores[at];
    return own === undefined || values.length < ALL_LABELS || values.some((value) => value > 0)
      ? []
      : [isFlagged(own) ? 1 : 0];
  });
  return {
    title: 'OpenAI evaluation set, texts labelled harmless throughout',
    subject: '',
    columns: [countColumn('texts'), metricColumn('flagged')],
    rows: [{ name: 'any category', cells: [flags.length, mean(flags)] }],
  };
}

/** HateCheck: accuracy of `hate` at 0.5 by functionality. */
export async function judgeHatecheck(service: ServiceClient, data: string, baseline: Baseline): Promise<MetricTable[]> {
  const rows = readJsonLines<Case>(data, FILES.hatecheck);
  const scores = await moderateTexts(service, texts(rows), 'HateCheck');
  const scoredTexts = rows.map(
    ({ labels }, at): ScoredText => ({ score: scores[at]?.hate ?? Number.NaN, isPositive: isHateful(labels) }),
  );
  const groups = new Map<string, number[]>();
  for (const [at, { functionality, labels }] of rows.entries()) {
    const whole = isHateful(labels) ? 'all hateful' : 'all not hateful';
    for (const group of ['all', whole, functionality]) groups.set(group, [...(groups.get(group) ?? []), at]);
  }
  const isRight = (at: number, score: number): number =>
    isHateful(rows[at]?.labels ?? {}) === score >= THRESHOLD ? 1 : 0;
  const row = (name: string, places: readonly number[]): MetricRow => {
    const model = mean(places.map((at) => isRight(at, scores[at]?.hate ?? Number.NaN)));
    const words = baseline && mean(places.map((at) => isRight(at, baseline(rows[at]?.text ?? ''))));
    return { name, cells: [places.length, model, words] };
  };
  return [
    {
      title: 'HateCheck, dev: ranking',
      subject: '',
      columns: [countColumn('cases'), metricColumn('AUROC')],
      rows: [{ name: 'score of hate', cells: [scoredTexts.length, areaUnderRoc(scoredTexts)] }],
    },
    {
      title: 'HateCheck, dev: judged right at 0.5',
      subject: 'functionality (_h must be found, _nh must not)',
      columns: [countColumn('cases'), metricColumn('right'), metricColumn('word weights')],
      rows: [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, places]) => row(name, places)),
    },
  ];
}

/** XSTest: harmless prompts that sound harmful, and harmful ones. */
export async function judgeXstest(service: ServiceClient, data: string, baseline: Baseline): Promise<MetricTable[]> {
  const rows = readJsonLines<Labelled>(data, FILES.xstest);
  const scores = await moderateTexts(service, texts(rows), 'XSTest');
  const row = (name: string, unsafe: number): MetricRow => {
    const places = rows.flatMap(({ labels }, at) => (labels['unsafe'] === unsafe ? [at] : []));
    const flagged = places.map((at) => (scores[at] !== undefined && isFlagged(scores[at]) ? 1 : 0));
    const words = baseline && mean(places.map((at) => (baseline(rows[at]?.text ?? '') >= THRESHOLD ? 1 : 0)));
    return { name, cells: [places.length, mean(flagged), words] };
  };
  return [
    {
      title: 'XSTest, dev: flagged in any category',
      subject: 'prompts',
      columns: [countColumn('prompts'), metricColumn('flagged'), metricColumn('word weights')],
      rows: [row('safe (false alarms)', 0), row('unsafe', 1)],
    },
  ];
}

function isHateful(labels: Labelled['labels']): boolean {
  return (labels['hate'] ?? 0) > 0;
}

function texts(rows: readonly Labelled[]): string[] {
  return rows.map(({ text }) => text);
}
