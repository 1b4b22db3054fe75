import { Group, Paper, Text } from '@mantine/core';
import { useEffect, useMemo, useRef } from 'react';
import type { Schema } from '../api/types.ts';
import { useFormat } from '../ui/format.ts';
import { fill } from '../ui/language.tsx';
import { Hint, PageLink, Tag } from '../ui/text.tsx';
import { joinChunks, type Segment } from './document-segments.ts';
import { useKnowledgeBaseMessages } from './messages.ts';

type Chunk = Schema<'Chunk'>;

interface DocumentTextProps {
  kbId: string;
  chunks: readonly Chunk[];
  /** Id of the chunk that the address names. */
  selected: string | undefined;
}

/**
 * Text of a document with the number of each chunk at its start. Underlines overlaps, highlights the selected chunk.
 */
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
      <Hint>{kb.chunkHint}</Hint>
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
    <PageLink
      to="/knowledge-bases/$kbId/documents/$documentId"
      params={{ kbId, documentId: chunk.document_id }}
      search={{ chunk: chunk.id }}
      resetScroll={false}
      className="chunk-number"
      aria-label={fill(kb.chunk, { number })}
    >
      {number}
    </PageLink>
  );
}

function ChunkDetails({ chunk, number }: { chunk: Chunk; number: number }) {
  const kb = useKnowledgeBaseMessages();
  const format = useFormat();
  const details = [
    ...chunk.heading_path,
    ...(chunk.page === null ? [] : [`${kb.page} ${chunk.page}`]),
    ...(chunk.cells === null ? [] : [chunk.cells]),
    `${format.number(chunk.tokens)} ${kb.tokens}`,
  ];
  return (
    <Group gap="xs">
      <Tag>{fill(kb.chunk, { number })}</Tag>
      <Text size="sm">{details.join(' · ')}</Text>
    </Group>
  );
}
