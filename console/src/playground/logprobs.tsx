import { Group, Paper, Progress, Text } from '@mantine/core';
import { type KeyboardEvent, memo, useId, useState } from 'react';
import type { TokenLogprob } from '../answers/answer-events.ts';
import { useFormat } from '../ui/format.ts';
import { Hint } from '../ui/text.tsx';
import { usePlaygroundMessages } from './messages.ts';

/** Tokens per memoized group: a running answer renders only its last group again. */
const GROUP_TOKENS = 50;
/** Probabilities from which the colours of console.css start, the highest last. */
const LEVELS = [0.2, 0.5, 0.8, 0.95];

/**
 * The tokens of an answer, coloured by probability, as one list box: a single tab stop in which the arrow keys move.
 * `count`: how many of the growing `tokens` are shown.
 */
export function Logprobs({ tokens, count }: { tokens: readonly TokenLogprob[]; count: number }) {
  const playground = usePlaygroundMessages();
  const id = useId();
  const [active, setActive] = useState<number | null>(null);
  const move = (event: KeyboardEvent) => {
    const last = count - 1;
    const at = active ?? -1;
    const targets: Record<string, number> = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: last };
    const target = targets[event.key];
    if (target === undefined) return;
    event.preventDefault();
    setActive(Math.min(last, Math.max(0, target)));
  };
  const hover = (element: EventTarget) => {
    const index = (element as HTMLElement).dataset?.['index'];
    if (index !== undefined) setActive(Number(index));
  };
  const groups = Array.from({ length: Math.ceil(count / GROUP_TOKENS) }, (_, group) => group * GROUP_TOKENS);
  const shown = active === null ? undefined : tokens[active];
  return (
    <>
      <Hint mb={4}>{playground.logprobsHelp}</Hint>
      <div
        role="listbox"
        tabIndex={0}
        className="tokens"
        aria-label={playground.logprobs}
        aria-activedescendant={active === null ? undefined : `${id}-${active}`}
        onKeyDown={move}
        onFocus={() => setActive(active ?? 0)}
        onMouseOver={(event) => hover(event.target)}
      >
        {groups.map((from) => {
          const end = Math.min(count, from + GROUP_TOKENS);
          const own = active !== null && active >= from && active < end ? active : null;
          return <TokenGroup key={from} id={id} tokens={tokens} from={from} end={end} active={own} />;
        })}
      </div>
      {shown !== undefined && <Alternatives shown={shown} />}
    </>
  );
}

interface TokenGroupProps {
  id: string;
  tokens: readonly TokenLogprob[];
  from: number;
  end: number;
  active: number | null;
}

const TokenGroup = memo(function TokenGroup({ id, tokens, from, end, active }: TokenGroupProps) {
  const format = useFormat();
  const playground = usePlaygroundMessages();
  return tokens.slice(from, end).map(({ token, logprob, top }, offset) => {
    const index = from + offset;
    const percent = format.percent(Math.exp(logprob));
    const others = top.filter((each) => each.token !== token);
    const alternatives = others.map((each) => `${each.token} ${format.percent(Math.exp(each.logprob))}`).join(', ');
    return (
      <span
        key={index}
        role="option"
        id={`${id}-${index}`}
        data-index={index}
        data-level={level(logprob)}
        tabIndex={-1}
        aria-selected={index === active}
        aria-label={`${token} ${percent}${others.length > 0 ? `. ${playground.alternatives}: ${alternatives}` : ''}`}
      >
        {token}
      </span>
    );
  });
});

const level = (logprob: number): number => LEVELS.filter((from) => Math.exp(logprob) >= from).length;

function Alternatives({ shown: { token, logprob, top } }: { shown: TokenLogprob }) {
  const playground = usePlaygroundMessages();
  const format = useFormat();
  const rows = top.length > 0 ? top : [{ token, logprob }];
  return (
    <Paper withBorder p="xs" mt="xs" maw={420} aria-hidden>
      <Hint>{playground.alternatives}</Hint>
      {rows.map((row) => (
        <Group key={row.token} gap="xs" wrap="nowrap">
          <Text size="sm" ff="monospace" w={140} truncate fw={row.token === token ? 700 : undefined}>
            {JSON.stringify(row.token)}
          </Text>
          <Progress value={Math.exp(row.logprob) * 100} flex={1} aria-label={row.token} />
          <Text size="sm" w={60} ta="right">
            {format.percent(Math.exp(row.logprob))}
          </Text>
        </Group>
      ))}
    </Paper>
  );
}
