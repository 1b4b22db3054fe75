import { ThumbsDown, ThumbsUp } from 'lucide-react';
import { useState } from 'react';
import { lazyPart } from '../ui/lazy-part.tsx';
import type { ChatMessage } from './branch.ts';
import type { Rating } from './feedback-dialog.tsx';
import { LineButton } from './line-button.tsx';
import { useChatMessages } from './messages.ts';

const FeedbackDialog = lazyPart(() => import('./feedback-dialog.tsx'), 'FeedbackDialog');

/** Thumb buttons that rate an answer, with a comment. */
export function Feedback({ message }: { message: ChatMessage }) {
  const messages = useChatMessages();
  const [rating, setRating] = useState<Rating | null>(null);
  const current = message.feedback?.rating;
  return (
    <>
      <LineButton label={messages.good} icon={ThumbsUp} isPressed={current === 'up'} onClick={() => setRating('up')} />
      <LineButton
        label={messages.bad}
        icon={ThumbsDown}
        isPressed={current === 'down'}
        onClick={() => setRating('down')}
      />
      {rating !== null && <FeedbackDialog message={message} rating={rating} onClose={() => setRating(null)} />}
    </>
  );
}
