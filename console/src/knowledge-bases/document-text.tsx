import { Anchor, Badge, Group, Paper, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useEffect, useMemo, useRef } from 'react';
import type { paths } from '../api/schema.d.ts';
import { useFormat } from '../ui/format.ts';
import { fill } from '../ui/language.tsx';
import { joinChunks, type Segment } from './document-segments.ts';
import { useKnowledgeBaseMessages } from './messages.ts';

type Chunk =
  paths['/v1/knowledge-bases/{kb_id}/documents/{document_id}/chunks']['get']['responses'][200]['content']['application/json']['data'][number];

interface DocumentTextProps {
  kbId: string;
  chunks: readonly Chunk[];
  /** Id of the chunk that the address names. */
  selected: string | undefined;
}

/** The text of a document with the number of each chunk where it begins. Overlaps are underlined, the selected chunk is highlighted. */
export function DocumentText({ kbId, chunks, selected }: DocumentTextProps) {
  const kb = useKnowledgeBaseMessages();
  const segments = useMemo(() => joinChunks(chunks), [chunks]);
  const selectedIndex = chunks.findIndex(({ id }) => id === selected);
  const highlight = useRef<HTMLElement>(null);
  useEffect(() => {
    if (selectedIndex >= 0) highlight.current?.scrollIntoView({ block: 'center' });
  }, [selectedIndex]);
  const firstHighlighted = segments.findIndex((segment) => segment.chunks.includes(selectedIndex));
  return (
    <>
      <Text size="sm" c="dimmed">
        {kb.chunkHint}
      </Text>
      {chunks[selectedIndex] !== undefined && <ChunkDetails chunk={chunks[selectedIndex]} number={selectedIndex + 1} />}
      <Paper withBorder p="lg" className="document-text">
        {segments.map((segment, index) => {
          const begun = begunChunk(segments, index);
          const isHighlighted = segment.chunks.includes(selectedIndex);
          return (
            // biome-ignore lint/suspicious/noArrayIndexKey: segments are only appended.
            <span key={index}>
              {begun !== null && <ChunkLink kbId={kbId} chunk={chunks[begun]} number={begun + 1} />}
              <span
                ref={index === firstHighlighted ? highlight : undefined}
                className={isHighlighted ? 'citation' : undefined}
                data-overlap={segment.chunks.length > 1 || undefined}
                aria-current={isHighlighted || undefined}
              >
                {segment.text}
              </span>
            </span>
          );
        })}
      </Paper>
    </>
  );
}

/** Index of the chunk that begins with a segment; null when the segment continues the chunk before it. */
function begunChunk(segments: readonly Segment[], index: number): number | null {
  const last = segments[index]?.chunks.at(-1);
  if (last === undefined) return null;
  const before = segments.slice(Math.max(0, index - 2), index).flatMap(({ chunks }) => chunks);
  return before.includes(last) ? null : last;
}

function ChunkLink({ kbId, chunk, number }: { kbId: string; chunk: Chunk | undefined; number: number }) {
  const kb = useKnowledgeBaseMessages();
  // The chunk after the last loaded one overlaps with it, and is not loaded yet.
  if (chunk === undefined) return null;
  return (
    <Anchor
      component={Link}
      to="/knowledge-bases/$kbId/documents/$documentId"
      params={{ kbId, documentId: chunk.document_id } as never}
      search={{ chunk: chunk.id } as never}
      resetScroll={false}
      className="chunk-number"
      aria-label={fill(kb.chunk, { number })}
    >
      {number}
    </Anchor>
  );
}

function ChunkDetails({ chunk, number }: { chunk: Chunk; number: number }) {
  const kb = useKnowledgeBaseMessages();
  const format = useFormat();
  const details = [
    ...chunk.heading_path,
    ...(chunk.page === null ? [] : [`${kb.page} ${chunk.page}`]),
    `${format.number(chunk.tokens)} ${kb.tokens}`,
  ];
  return (
    <Group gap="xs">
      <Badge variant="light" tt="none">
        {fill(kb.chunk, { number })}
      </Badge>
      <Text size="sm">{details.join(' · ')}</Text>
    </Group>
  );
}
