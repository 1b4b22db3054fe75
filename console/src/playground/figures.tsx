import { Button, Group } from '@mantine/core';
import type { AnswerUsage } from '../answers/answer-events.ts';
import { useMayWrite } from '../api/session.ts';
import { useModels } from '../api/use-models.ts';
import { useEvaluationMessages } from '../evaluations/messages.ts';
import { DialogButton } from '../ui/form-dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { fill } from '../ui/language.tsx';
import { lazyPart } from '../ui/lazy-part.tsx';
import { usePlaygroundMessages } from './messages.ts';
import { type AnswerTurn, answerText, searchedBases } from './turns.ts';

const AddQuestionDialog = lazyPart(() => import('../evaluations/add-question.tsx'), 'AddQuestionDialog');

interface FiguresProps {
  turn: AnswerTurn;
  /** The message that it answers. */
  question: string;
  onRetry: (() => void) | undefined;
  onShowRequest(turn: AnswerTurn): void;
}

/** What the service reported about an answer, and the times that the browser measured. */
export function Figures({ turn, question, onRetry, onShowRequest }: FiguresProps) {
  const playground = usePlaygroundMessages();
  const figures = useFigures(turn);
  return (
    <Group justify="space-between" mt="sm" gap="xs" align="flex-end">
      <dl className="figures">
        {figures.map(([label, value]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <Group gap={4}>
        <AddToEvaluation turn={turn} question={question} />
        <Button size="compact-xs" variant="default" onClick={() => onShowRequest(turn)}>
          {playground.request}
        </Button>
        {onRetry !== undefined && (
          <Button size="compact-xs" variant="default" onClick={onRetry}>
            {playground.retry}
          </Button>
        )}
      </Group>
    </Group>
  );
}

/** Adds the question of an answer from knowledge bases to an evaluation of one of them. */
function AddToEvaluation({ turn, question }: Pick<FiguresProps, 'turn' | 'question'>) {
  const evaluations = useEvaluationMessages();
  const mayWrite = useMayWrite();
  const kbIds = searchedBases(turn);
  if (!mayWrite || kbIds.length === 0) return null;
  return (
    <DialogButton label={evaluations.addToSet} size="compact-xs" variant="default">
      {(close) => <AddQuestionDialog kbIds={kbIds} question={question} answer={answerText(turn)} onClose={close} />}
    </DialogButton>
  );
}

function useFigures(turn: AnswerTurn): [string, string][] {
  const playground = usePlaygroundMessages();
  const format = useFormat();
  const models = useModels();
  const { usage, firstTokenMs, totalMs, state, finishReason, cacheStatus, requestId, model } = turn;
  const served = models.data?.data.find(({ id }) => id === model);
  // The list price is that of the model which the id stands for.
  const pricing = served?.backend.engine === 'bundled' ? undefined : served?.pricing;
  const rate = tokensPerSecond(turn);
  const seconds = (ms: number) => `${format.number(Math.round(ms / 10) / 100)} s`;
  const figures: [string, string | null][] = [
    [playground.finish, state === 'stopped' ? playground.stopped : finishReason],
    [
      playground.tokens,
      usage &&
        fill(playground.tokenCounts, {
          prompt: format.number(usage.promptTokens),
          cached: format.number(usage.cachedTokens),
          completion: format.number(usage.completionTokens),
        }),
    ],
    [playground.firstToken, firstTokenMs === null ? null : `${format.number(Math.round(firstTokenMs))} ms`],
    [playground.total, totalMs === null ? null : seconds(totalMs)],
    [playground.rate, rate === null ? null : format.number(rate)],
    [playground.cost, usage && pricing ? format.money(costMicros(usage, pricing)) : null],
    // The head of some streams is sent before the cache result is known.
    [playground.cache, usage === null ? cacheStatus : usage.cachedTokens > 0 ? 'HIT' : 'MISS'],
    [playground.requestId, requestId],
  ];
  const isKnown = (figure: [string, string | null]): figure is [string, string] => figure[1] !== null;
  return figures.filter(isKnown);
}

/** Shorter answers say nothing about the speed: they may have arrived as one. */
const MIN_RATE_MS = 250;

/** Completion tokens after the first one, per second; null when there are too few to tell. */
function tokensPerSecond({ usage, firstTokenMs, totalMs }: AnswerTurn): number | null {
  if (usage === null || firstTokenMs === null || totalMs === null || usage.completionTokens < 2) return null;
  const seconds = (totalMs - firstTokenMs) / 1000;
  return seconds < MIN_RATE_MS / 1000 ? null : Math.round(((usage.completionTokens - 1) / seconds) * 10) / 10;
}

interface Pricing {
  prompt: number;
  completion: number;
  unit: 'per_1k_tokens' | 'per_1m_tokens';
}

/** Cost in micros by the price of the model, as the service bills it: cached tokens cost one tenth. */
function costMicros({ promptTokens, cachedTokens, completionTokens }: AnswerUsage, pricing: Pricing): number {
  const prompt = (promptTokens - cachedTokens + cachedTokens / 10) * pricing.prompt;
  const credits = (prompt + completionTokens * pricing.completion) / (pricing.unit === 'per_1k_tokens' ? 1e3 : 1e6);
  // Six decimals of a micro: floating-point noise must not round an exact cost up.
  return Math.ceil(Math.round(credits * 1e12) / 1e6);
}
