import { Alert, Badge, Button, Card, Code, Group, Loader, Paper, Stack, Text } from '@mantine/core';
import { memo, useState } from 'react';
import type { AnswerPart, Citation } from '../answers/answer-events.ts';
import { AnswerText } from '../answers/answer-text.tsx';
import { PassageList } from '../answers/passage-list.tsx';
import { TextAreaField } from '../ui/fields.tsx';
import { fill } from '../ui/language.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { ErrorState } from '../ui/states.tsx';
import { Hint } from '../ui/text.tsx';
import { Figures } from './figures.tsx';
import { Logprobs } from './logprobs.tsx';
import { usePlaygroundMessages } from './messages.ts';
import { Sources } from './sources.tsx';
import type { AnswerTurn, ToolTurn, UserTurn } from './turns.ts';

/** A message of the user, which can be edited and sent again. */
export const UserMessage = memo(function UserMessage({
  turn,
  onResend,
}: {
  turn: UserTurn;
  /** Undefined: it cannot be changed now. */
  onResend: ((text: string) => void) | undefined;
}) {
  const playground = usePlaygroundMessages();
  const common = useCommonMessages();
  const [draft, setDraft] = useState<string | null>(null);
  if (draft === null) {
    return (
      <Card bg="var(--mantine-color-default-hover)" p="sm">
        <Group justify="space-between" mb={4}>
          <Hint fw={600}>{playground.you}</Hint>
          {onResend !== undefined && (
            <Button size="compact-xs" variant="default" onClick={() => setDraft(turn.text)}>
              {playground.edit}
            </Button>
          )}
        </Group>
        <Text className="plain-text">{turn.text}</Text>
      </Card>
    );
  }
  return (
    <Card bg="var(--mantine-color-default-hover)" p="sm">
      <TextAreaField aria-label={playground.editMessage} autosize data-autofocus value={draft} onChange={setDraft} />
      <Group justify="flex-end" mt="xs">
        <Button size="xs" variant="default" onClick={() => setDraft(null)}>
          {common.cancel}
        </Button>
        <Button
          size="xs"
          disabled={draft.trim() === ''}
          onClick={() => {
            setDraft(null);
            onResend?.(draft.trim());
          }}
        >
          {playground.resend}
        </Button>
      </Group>
    </Card>
  );
});

/** The result of a tool call. */
export const ToolMessage = memo(function ToolMessage({ turn }: { turn: ToolTurn }) {
  const playground = usePlaygroundMessages();
  return (
    <Card withBorder p="sm">
      <Hint mb={4}>{fill(playground.resultOf, { name: turn.name })}</Hint>
      <Code block className="plain-text">
        {turn.output}
      </Code>
    </Card>
  );
});

interface AnswerProps {
  turn: AnswerTurn;
  /** Undefined: it is not the last answer. */
  onRetry: (() => void) | undefined;
  onContinue: ((results: Omit<ToolTurn, 'role' | 'id'>[]) => void) | undefined;
  onShowRequest(turn: AnswerTurn): void;
  /** The message that it answers. */
  question: string;
}

/** An answer with its parts, sources, figures and error. */
export const AnswerMessage = memo(function AnswerMessage({
  turn,
  onRetry,
  onContinue,
  onShowRequest,
  question,
}: AnswerProps) {
  const playground = usePlaygroundMessages();
  const { parts, state, error } = turn;
  const citations = parts.flatMap((part) => (part.kind === 'text' ? part.citations : []));
  const calls = parts.filter((part) => part.kind === 'call');
  return (
    <Card withBorder p="sm">
      <Hint mb={4} className="breakable">
        {turn.model}
      </Hint>
      <Stack gap="sm">
        {state === 'running' && parts.length === 0 && <Loader type="dots" size="sm" aria-label={playground.waiting} />}
        {parts.map((part) => (
          <PartView key={part.key} part={part} numbers={citations} />
        ))}
        {onContinue !== undefined && state === 'done' && calls.length > 0 && (
          <ToolResults calls={calls} onContinue={onContinue} />
        )}
        {state === 'lost' && (
          <Alert color="yellow" role="alert" title={playground.lost}>
            {playground.lostText}
          </Alert>
        )}
        {error !== null && <ErrorState error={error} />}
      </Stack>
      <Sources citations={citations} context={turn.context} />
      {state !== 'running' && (
        <Figures turn={turn} question={question} onRetry={onRetry} onShowRequest={onShowRequest} />
      )}
    </Card>
  );
});

type Citations = readonly Citation[];

const PartView = memo(
  function PartView({ part, numbers }: { part: AnswerPart; numbers: Citations }) {
    const playground = usePlaygroundMessages();
    switch (part.kind) {
      case 'text':
        return <TextPart part={part} citations={numbers} />;
      case 'reasoning':
        return (
          <details>
            <summary>{playground.reasoning}</summary>
            <Hint className="plain-text">{part.text}</Hint>
          </details>
        );
      case 'call':
        return <CallCard part={part} />;
      case 'search':
        return <SearchCard part={part} />;
    }
  },
  (before, after) => before.part === after.part && before.numbers.length === after.numbers.length,
);

function TextPart({ part, citations }: { part: Extract<AnswerPart, { kind: 'text' }>; citations: Citations }) {
  const playground = usePlaygroundMessages();
  const [isColoured, setIsColoured] = useState(true);
  const { tokens } = part;
  return (
    <div>
      {tokens.length > 0 && (
        <Button size="compact-xs" variant="default" mb="xs" onClick={() => setIsColoured(!isColoured)}>
          {isColoured ? playground.showText : playground.showLogprobs}
        </Button>
      )}
      {tokens.length > 0 && isColoured ? (
        <Logprobs tokens={tokens} count={tokens.length} />
      ) : (
        <AnswerText part={part} citations={citations} />
      )}
    </div>
  );
}

function CallCard({ part }: { part: Extract<AnswerPart, { kind: 'call' }> }) {
  const playground = usePlaygroundMessages();
  return (
    <Paper withBorder p="xs">
      <Group gap="xs" mb={4}>
        <Badge variant="light">{playground.toolCall}</Badge>
        <Text size="sm" ff="monospace" fw={600} className="breakable">
          {part.name}
        </Text>
      </Group>
      <Code block className="plain-text">
        {prettyJson(part.arguments)}
      </Code>
    </Paper>
  );
}

/** Arguments arrive in fragments: until they are complete, as they are. */
function prettyJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function SearchCard({ part }: { part: Extract<AnswerPart, { kind: 'search' }> }) {
  const playground = usePlaygroundMessages();
  const { queries, passages, isRunning } = part;
  return (
    <Paper withBorder p="xs">
      <Group gap="xs">
        <Badge variant="light" color="teal">
          {playground.search}
        </Badge>
        {isRunning && <Loader size="xs" aria-label={playground.searching} />}
        <Text size="sm" className="breakable">
          {queries.join(' · ')}
        </Text>
      </Group>
      {!isRunning && (
        <details>
          <summary>{fill(playground.passages, { count: passages.length })}</summary>
          <PassageList passages={passages} />
        </details>
      )}
    </Paper>
  );
}

interface ToolResultsProps {
  calls: Extract<AnswerPart, { kind: 'call' }>[];
  onContinue(results: Omit<ToolTurn, 'role' | 'id'>[]): void;
}

/** Fields for the results of tool calls. */
function ToolResults({ calls, onContinue }: ToolResultsProps) {
  const playground = usePlaygroundMessages();
  const [outputs, setOutputs] = useState<Record<string, string>>({});
  const isComplete = calls.every(({ key }) => (outputs[key] ?? '').trim() !== '');
  return (
    <Stack gap="xs">
      {calls.map(({ key, name }) => (
        <TextAreaField
          key={key}
          label={fill(playground.resultOf, { name })}
          placeholder='{"temperature": 21}'
          autosize
          minRows={2}
          value={outputs[key] ?? ''}
          onChange={(value) => setOutputs((before) => ({ ...before, [key]: value }))}
        />
      ))}
      <Group justify="flex-end">
        <Button
          size="xs"
          disabled={!isComplete}
          onClick={() =>
            onContinue(calls.map(({ key, callId, name }) => ({ callId, name, output: outputs[key] ?? '' })))
          }
        >
          {playground.continue}
        </Button>
      </Group>
    </Stack>
  );
}
