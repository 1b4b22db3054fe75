import { Anchor, Button, Card, Group, Stack, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useFormat } from '../components/format.ts';
import { ErrorState } from '../components/states.tsx';
import { fill, useMessages } from '../messages/index.tsx';
import type { ChatCitation, PlaygroundMessage } from './use-chat.ts';

/** A message with its reasoning, citations and statistics. */
export function ChatMessage({ message, onRetry }: { message: PlaygroundMessage; onRetry?: () => void }) {
  const { playground } = useMessages();
  const isUser = message.role === 'user';
  return (
    <Card withBorder={!isUser} bg={isUser ? 'var(--mantine-color-default-hover)' : undefined}>
      <Text size="xs" c="dimmed" fw={600} mb={4}>
        {isUser ? playground.you : playground.assistant}
      </Text>
      {message.reasoning !== '' && (
        <details>
          <summary>{playground.reasoning}</summary>
          <Text size="sm" c="dimmed" style={{ whiteSpace: 'pre-wrap' }}>
            {message.reasoning}
          </Text>
        </details>
      )}
      <Text style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
        {markCitations(message.text, message.citations)}
      </Text>
      {message.error !== null && <ErrorState error={message.error} onRetry={onRetry} />}
      {message.citations.length > 0 && <Sources citations={message.citations} />}
      {!isUser && message.totalMs !== null && message.error === null && (
        <Statistics message={message} onRetry={onRetry} />
      )}
    </Card>
  );
}

function Statistics({ message, onRetry }: { message: PlaygroundMessage; onRetry?: (() => void) | undefined }) {
  const { playground } = useMessages();
  const format = useFormat();
  const { usage, firstTokenMs, totalMs, finishReason } = message;
  const text =
    usage === null
      ? ''
      : fill(playground.stats, {
          prompt: format.number(usage.promptTokens),
          cached: format.number(usage.cachedTokens),
          completion: format.number(usage.completionTokens),
          first: format.number(Math.round(firstTokenMs ?? 0)),
          total: format.number(Math.round((totalMs ?? 0) / 10) / 100),
        });
  return (
    <Group justify="space-between" mt="xs">
      <Text size="xs" c="dimmed">
        {[finishReason === 'stopped' ? playground.stopped : finishReason, text].filter(Boolean).join(' · ')}
      </Text>
      {onRetry !== undefined && (
        <Button size="compact-xs" variant="subtle" onClick={onRetry}>
          {playground.retry}
        </Button>
      )}
    </Group>
  );
}

/** The cited passages, each a link to its place in the document. */
function Sources({ citations }: { citations: readonly ChatCitation[] }) {
  const { playground } = useMessages();
  const unique = [...new Map(citations.map((each) => [each.chunkId ?? each.url, each])).values()];
  return (
    <Stack gap={2} mt="sm">
      <Text size="sm" fw={600}>
        {playground.sources}
      </Text>
      {unique.map((citation, index) => (
        <Text size="sm" key={citation.chunkId ?? citation.url}>
          [{index + 1}] <SourceLink citation={citation} />
        </Text>
      ))}
    </Stack>
  );
}

function SourceLink({ citation: { title, kbId, documentId, chunkId, url } }: { citation: ChatCitation }) {
  if (kbId !== null && documentId !== null) {
    return (
      <Anchor
        component={Link}
        to="/knowledge-bases/$kbId/documents/$documentId"
        params={{ kbId, documentId } as never}
        search={{ chunk: chunkId ?? undefined } as never}
      >
        {title}
      </Anchor>
    );
  }
  const isWeb = url !== null && /^https?:\/\//.test(url);
  return isWeb ? (
    <Anchor href={url} target="_blank" rel="noreferrer">
      {title || url}
    </Anchor>
  ) : (
    title
  );
}

/** Highlights the cited parts of an answer. */
function markCitations(text: string, citations: readonly ChatCitation[]): ReactNode[] {
  const sorted = [...citations].sort((a, b) => a.start - b.start);
  const parts: ReactNode[] = [];
  let at = 0;
  for (const { start, end, title } of sorted) {
    const from = Math.max(at, start);
    if (end <= from) continue;
    parts.push(
      text.slice(at, from),
      <mark key={from} className="citation" title={title}>
        {text.slice(from, end)}
      </mark>,
    );
    at = end;
  }
  return [...parts, text.slice(at)];
}
