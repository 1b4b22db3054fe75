import { Anchor, Button, Group, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiFailure, networkFailure, toFailure } from '../api/client.ts';
import { fill } from '../ui/language.tsx';
import { QueryData } from '../ui/states.tsx';
import { Hint } from '../ui/text.tsx';
import { usePassageMessages } from './messages.ts';
import { type Passage, pageImagePath } from './passage.ts';

/** Pixels of an image in the panel, twice its width for fine screens, and of the enlarged one. */
const WIDTH = 1200;
const ENLARGED_WIDTH = 2000;
/** Pages that are tried: the passage may be on a later page than the beginning of its chunk. */
const TRIED_PAGES = 4;

/** A rendered page; the browser has its image in the cache. */
interface ShownPage {
  page: number;
  isMarked: boolean;
}

/** The page of a PDF or of an image with the passage marked. Nothing for formats without pages. */
export function PageImage({ passage, firstPage }: { passage: Passage; firstPage: number }) {
  const messages = usePassageMessages();
  const [chosen, setChosen] = useState<number | null>(null);
  const { documentId, start, end } = passage;
  const shown = useQuery({
    queryKey: ['page-image', documentId, start, end, chosen ?? `from ${firstPage}`],
    queryFn: () => (chosen === null ? findPage(passage, firstPage) : loadPage(passage, chosen)),
    retry: false,
  });
  // Formats without pages, and files that cannot be rendered: their text is below.
  if (chosen === null && shown.error instanceof ApiFailure && shown.error.status < 500) return null;
  return (
    <Stack gap="xs">
      <QueryData query={shown}>
        {({ page, isMarked }) => (
          <>
            {!isMarked && <Hint role="status">{messages.notMarked}</Hint>}
            <Anchor
              href={pageImagePath(passage, page, ENLARGED_WIDTH)}
              target="_blank"
              rel="noopener"
              aria-label={messages.enlarge}
            >
              <img
                className="page-image"
                src={pageImagePath(passage, page, WIDTH)}
                alt={fill(messages.pageImage, { page })}
              />
            </Anchor>
          </>
        )}
      </QueryData>
      <PageButtons page={chosen ?? shown.data?.page ?? firstPage} isLast={shown.isError} onChoose={setChosen} />
    </Stack>
  );
}

function PageButtons({ page, isLast, onChoose }: { page: number; isLast: boolean; onChoose(page: number): void }) {
  const messages = usePassageMessages();
  return (
    <Group justify="space-between">
      <Button size="compact-sm" variant="default" disabled={page <= 1} onClick={() => onChoose(page - 1)}>
        {messages.previousPage}
      </Button>
      <Hint>
        {messages.page} {page}
      </Hint>
      <Button size="compact-sm" variant="default" disabled={isLast} onClick={() => onChoose(page + 1)}>
        {messages.nextPage}
      </Button>
    </Group>
  );
}

/** The page with the passage: the first of some from the beginning of its chunk; that beginning when none has it. */
async function findPage(passage: Passage, firstPage: number): Promise<ShownPage> {
  const first = await loadPage(passage, firstPage);
  for (let page = firstPage + 1; !first.isMarked && page < firstPage + TRIED_PAGES; page++) {
    const next = await loadPage(passage, page).catch(() => null);
    if (next === null) break;
    if (next.isMarked) return next;
  }
  return first;
}

async function loadPage(passage: Passage, page: number): Promise<ShownPage> {
  const response = await fetch(pageImagePath(passage, page, WIDTH)).catch(() => {
    throw networkFailure();
  });
  if (!response.ok) throw await toFailure(response);
  // Reading it to its end puts it into the cache.
  await response.arrayBuffer();
  return { page, isMarked: response.headers.get('x-passage-marked') === 'true' };
}
