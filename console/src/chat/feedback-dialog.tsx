import { Button } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { api, body } from '../api/client.ts';
import { TextAreaField } from '../ui/fields.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { MutationError } from '../ui/states.tsx';
import { Hint } from '../ui/text.tsx';
import type { ChatMessage } from './branch.ts';
import { useChatMessages } from './messages.ts';
import { useReadMessage } from './use-chats.ts';

/** A rating of an answer. */
export type Rating = NonNullable<ChatMessage['feedback']>['rating'];

const PATH = '/v1/chats/{chat_id}/messages/{message_id}/feedback';
const MAX_COMMENT = 4_000;

interface FeedbackDialogProps {
  message: ChatMessage;
  rating: Rating;
  onClose(): void;
}

/** Dialog that explains who can read the rated exchange before the rating is sent. */
export function FeedbackDialog({ message, rating, onClose }: FeedbackDialogProps) {
  const messages = useChatMessages();
  const readMessage = useReadMessage();
  const [comment, setComment] = useState(message.feedback?.comment ?? '');
  const params = { path: { chat_id: message.chat_id, message_id: message.id } };
  const takeBack = useMutation({
    mutationFn: () => body(api.DELETE(PATH, { params })).then(() => readMessage(message)),
    onSuccess: onClose,
  });
  return (
    <FormDialog
      title={rating === 'up' ? messages.good : messages.bad}
      submitLabel={messages.sendFeedback}
      onClose={onClose}
      submit={() => body(api.PUT(PATH, { params, body: { rating, comment } })).then(() => readMessage(message))}
    >
      <TextAreaField
        label={messages.comment}
        param="comment"
        placeholder={rating === 'up' ? messages.whatIsGood : messages.whatIsBad}
        autosize
        minRows={3}
        maxRows={10}
        maxLength={MAX_COMMENT}
        data-autofocus
        value={comment}
        onChange={setComment}
      />
      <Hint>{messages.feedbackHint}</Hint>
      <MutationError mutation={takeBack} />
      {message.feedback !== null && (
        <Button variant="default" w="fit-content" loading={takeBack.isPending} onClick={() => takeBack.mutate()}>
          {messages.takeBack}
        </Button>
      )}
    </FormDialog>
  );
}
