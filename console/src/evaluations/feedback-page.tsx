import { Stack, Text } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { MessageSquareQuote, ThumbsDown, ThumbsUp } from 'lucide-react';
import { useState } from 'react';
import { api } from '../api/client.ts';
import type { Schema } from '../api/types.ts';
import { RowButton } from '../ui/confirm.tsx';
import type { Column } from '../ui/data-table.tsx';
import { useFormat } from '../ui/format.ts';
import { Icon } from '../ui/icon.tsx';
import { toPlainText } from '../ui/markdown/plain-text.ts';
import { Page } from '../ui/page.tsx';
import { ResourceTable } from '../ui/resource-table.tsx';
import { Segments } from '../ui/segments.tsx';
import { EmptyState } from '../ui/states.tsx';
import { Hint } from '../ui/text.tsx';
import { AddQuestionDialog } from './add-question.tsx';
import { RATINGS, type RatingFilter } from './feedback-search.ts';
import { useEvaluationMessages } from './messages.ts';

type Feedback = Schema<'ChatFeedback'>;

/** Page of rated answers for owners. Answers can be added to question sets. */
export function FeedbackPage() {
  const texts = useEvaluationMessages();
  const { rating } = useSearch({ from: '/shell/feedback' });
  const navigate = useNavigate({ from: '/feedback' });
  const [added, setAdded] = useState<Feedback | null>(null);
  const columns = useFeedbackColumns();
  return (
    <Page title={texts.feedback} intro={texts.feedbackIntro}>
      <Segments
        label={texts.rating}
        values={RATINGS}
        labels={texts.ratings}
        value={rating ?? 'all'}
        onChange={(value: RatingFilter) => void navigate({ search: value === 'all' ? {} : { rating: value } })}
      />
      <ResourceTable<Feedback>
        label={texts.feedback}
        queryKey={['chat-feedback', rating]}
        fetchPage={(page) => {
          const query = { ...page, ...(rating !== undefined && { rating }) };
          return api.GET('/v1/chat-feedback', { params: { query } });
        }}
        empty={<EmptyState icon={MessageSquareQuote} text={texts.noFeedback} />}
        columns={columns}
        mainAction={(item) => <RowButton label={texts.addToSet} name={item.text} onClick={() => setAdded(item)} />}
      />
      {added !== null && <AddRatedDialog feedback={added} onClose={() => setAdded(null)} />}
    </Page>
  );
}

function useFeedbackColumns(): Column<Feedback>[] {
  const texts = useEvaluationMessages();
  const format = useFormat();
  return [
    { heading: texts.rating, cell: ({ rating }) => <RatingIcon rating={rating} /> },
    { heading: texts.question, cell: ({ text }) => <Excerpt text={text} /> },
    { heading: texts.answer, cell: (item) => <Excerpt text={toPlainText(readAnswer(item))} /> },
    { heading: texts.comment, cell: ({ comment }) => comment !== null && <Excerpt text={comment} /> },
    {
      heading: texts.person,
      cell: ({ owner, rated_at: time }) => (
        <Stack gap={0}>
          <Text className="breakable">{owner.name ?? owner.id}</Text>
          <Hint style={{ whiteSpace: 'nowrap' }}>{format.time(time)}</Hint>
        </Stack>
      ),
    },
  ];
}

function RatingIcon({ rating }: { rating: Feedback['rating'] }) {
  const texts = useEvaluationMessages();
  return (
    <Text span c={rating === 'up' ? 'teal' : 'red'} role="img" aria-label={texts.ratings[rating]}>
      <Icon icon={rating === 'up' ? ThumbsUp : ThumbsDown} />
    </Text>
  );
}

const Excerpt = ({ text }: { text: string }) => (
  <Text lineClamp={3} className="breakable" title={text} style={{ minWidth: 140, maxWidth: 360 }}>
    {text}
  </Text>
);

const readAnswer = ({ answer }: Feedback): string => answer.map(({ text }) => text).join('\n\n');

function AddRatedDialog({ feedback, onClose }: { feedback: Feedback; onClose(): void }) {
  const citations = feedback.answer.flatMap(({ annotations }) =>
    annotations.flatMap((each) => (each.type === 'file_citation' ? [each] : [])),
  );
  return (
    <AddQuestionDialog
      kbIds={[...new Set(citations.map(({ kb_id: id }) => id))]}
      question={feedback.text}
      answer={readAnswer(feedback)}
      documents={[...new Set(citations.map(({ document_name: name }) => name))]}
      onClose={onClose}
    />
  );
}
