import { Button, Group, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { ApiFailure, api, body } from '../api/client.ts';
import type { Schema } from '../api/types.ts';
import { CopyText } from '../ui/copy-text.tsx';
import { Modal } from '../ui/dialogs.tsx';
import { useFormat } from '../ui/format.ts';
import { fill } from '../ui/language.tsx';
import { MutationError, QueryData } from '../ui/states.tsx';
import { Hint } from '../ui/text.tsx';
import type { Chat } from './group-chats.ts';
import { useChatMessages } from './messages.ts';

const PATH = '/v1/chats/{chat_id}/share';

type Share = Schema<'ChatShare'>;

/** Dialog that creates, updates and revokes the link of a chat. */
export function ShareDialog({ chat, onClose }: { chat: Chat; onClose(): void }) {
  const messages = useChatMessages();
  const queryKey = ['chat-share', chat.id];
  const params = { path: { chat_id: chat.id } };
  const share = useQuery({ queryKey, queryFn: () => readShare(chat.id) });
  const client = useQueryClient();
  const show = (changed: Share | null) => client.setQueryData(queryKey, changed);
  const create = useMutation({ mutationFn: () => body(api.POST(PATH, { params })), onSuccess: show });
  const revoke = useMutation({ mutationFn: () => body(api.DELETE(PATH, { params })), onSuccess: () => show(null) });
  return (
    <Modal opened onClose={onClose} title={messages.shareTitle}>
      <Stack>
        <Text>{messages.shareText}</Text>
        <QueryData query={share}>
          {(link) =>
            link === null ? (
              <Button w="fit-content" loading={create.isPending} onClick={() => create.mutate()}>
                {messages.createLink}
              </Button>
            ) : (
              <SharedLink
                link={link}
                isNewest={link.message_id === chat.current_message_id}
                create={create}
                revoke={revoke}
              />
            )
          }
        </QueryData>
        <MutationError mutation={create} />
        <MutationError mutation={revoke} />
      </Stack>
    </Modal>
  );
}

/** Loads the link of a chat, or null. */
async function readShare(chatId: string): Promise<Share | null> {
  try {
    return await body(api.GET(PATH, { params: { path: { chat_id: chatId } } }));
  } catch (error) {
    if (error instanceof ApiFailure && error.code === 'chat_share_not_found') return null;
    throw error;
  }
}

interface SharedLinkProps {
  link: Share;
  /** Whether the link shows the current branch. */
  isNewest: boolean;
  create: Action;
  revoke: Action;
}

interface Action {
  isPending: boolean;
  mutate(): void;
}

function SharedLink({ link, isNewest, create, revoke }: SharedLinkProps) {
  const messages = useChatMessages();
  const format = useFormat();
  return (
    <>
      <CopyText value={`${location.origin}/chat/shared/${link.id}`} />
      <Hint>{fill(messages.sharedAt, { time: format.time(link.created_at) })}</Hint>
      <Group justify="flex-end">
        <Button variant="default" c="red" loading={revoke.isPending} onClick={() => revoke.mutate()}>
          {messages.revokeLink}
        </Button>
        {!isNewest && (
          <Button variant="default" loading={create.isPending} onClick={() => create.mutate()}>
            {messages.renewLink}
          </Button>
        )}
      </Group>
    </>
  );
}
