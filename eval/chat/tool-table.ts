import { Ajv } from 'ajv';
import { countColumn, type MetricRow, type MetricTable, metricColumn } from '../../bench/harness/metric-table.ts';
import type { ServiceClient } from '../../bench/harness/service-client.ts';
import { type ChatAnswer, completeAll, type EvaluatedModel, REJECTED } from './chat-client.ts';
import type { ToolCase, WantedCall } from './tool-cases.ts';

/** A part of the table. */
export interface ToolPart {
  name: string;
  cases: readonly ToolCase[];
  /** Maximum turns with a call, and turns without. */
  most: number;
}

const ajv = new Ajv({ strict: false, validateFormats: false });

/** Measures whether calls are made when expected, valid and right, with tool choice `auto`. */
export async function toolTable(
  service: ServiceClient,
  subjects: readonly EvaluatedModel[],
  { name, cases, most }: ToolPart,
): Promise<MetricTable> {
  const calling = spread(
    cases.filter(({ wanted }) => wanted !== null),
    most,
  );
  const talking = spread(
    cases.filter(({ wanted }) => wanted === null),
    most,
  );
  const chatOf = ({ messages, tools }: ToolCase) => ({ messages, tools });
  const rows: MetricRow[] = [];
  for (const subject of subjects) {
    const called = await completeAll(service, subject, calling.map(chatOf), name);
    const talked = await completeAll(service, subject, talking.map(chatOf), `${name}, talk`);
    rows.push({ name: subject.name, cells: cellsOf(calling, called, { talking, talked }) });
  }
  return {
    title: `Tools: ${name}`,
    subject: 'weights',
    columns: [
      countColumn('turns that call'),
      metricColumn('calls'),
      metricColumn('valid, of calls'),
      metricColumn('right name, of calls'),
      metricColumn('right values'),
      metricColumn('whole call right, of turns'),
      countColumn('turns that talk'),
      metricColumn('talks'),
      countColumn('rejected'),
    ],
    rows,
  };
}

/** Samples items evenly from the list. */
function spread<T>(items: readonly T[], most: number): T[] {
  if (items.length <= most) return [...items];
  return Array.from({ length: most }, (_, i) => items[Math.floor((i * items.length) / most)] as T);
}

interface Talk {
  talking: readonly ToolCase[];
  talked: readonly ChatAnswer[];
}

function cellsOf(
  cases: readonly ToolCase[],
  answers: readonly ChatAnswer[],
  { talking, talked }: Talk,
): (number | null)[] {
  const made = cases.flatMap((one, i) => {
    const call = answers[i]?.calls[0];
    return call === undefined ? [] : [{ one, call }];
  });
  const unasked = talking.flatMap((one, i) => (talked[i]?.calls ?? []).map((call) => ({ one, call })));
  const valid = [...made, ...unasked].filter(({ one, call }) => isValid(one, call)).length;
  const named = made.filter(({ one, call }) => call.name === one.wanted?.name);
  const judged = named.map(({ one, call }) => judge(one.wanted as WantedCall, call.arguments));
  const right = judged.reduce((sum, { right: values }) => sum + values, 0);
  const all = judged.reduce((sum, { all: values }) => sum + values, 0);
  const of = (part: number, whole: number): number | null => (whole === 0 ? null : part / whole);
  return [
    cases.length,
    of(made.length, cases.length),
    of(valid, made.length + unasked.length),
    of(named.length, made.length),
    of(right, all),
    of(judged.filter(({ whole }) => whole).length, cases.length),
    talking.length,
    of(talked.filter(({ calls }) => calls.length === 0).length, talking.length),
    [...answers, ...talked].filter(({ reason }) => reason === REJECTED).length,
  ];
}

/** Whether a call has a listed name and arguments that its schema accepts. */
function isValid({ tools }: ToolCase, call: ChatAnswer['calls'][number]): boolean {
  const tool = tools.find((one) => one.function.name === call.name);
  const given = parsed(call.arguments);
  if (tool === undefined || given === null) return false;
  return ajv.validate(tool.function.parameters ?? { type: 'object' }, given) === true;
}

function parsed(text: string): Record<string, unknown> | null {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    // No call at all, then.
    return null;
  }
}

const plain = (value: unknown): string =>
  (typeof value === 'object' ? JSON.stringify(value) : String(value)).trim().toLowerCase();

function judge({ values }: WantedCall, text: string): { right: number; all: number; whole: boolean } {
  const given = parsed(text) ?? {};
  const wanted = Object.entries(values).filter(([key, options]) => key in given || !options.includes(''));
  const right = wanted.filter(([key, options]) => options.some((option) => plain(option) === plain(given[key]))).length;
  const extra = Object.keys(given).some((key) => !(key in values));
  return { right, all: wanted.length, whole: right === wanted.length && !extra };
}
