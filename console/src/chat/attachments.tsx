import { CircleAlert, FileText, LoaderCircle, type LucideIcon, Paperclip, X } from 'lucide-react';
import { useRef, useState } from 'react';
import { useModels } from '../api/use-models.ts';
import { ATTACHMENT_LIMITS } from '../api/values.ts';
import { useFormat } from '../ui/format.ts';
import { Icon } from '../ui/icon.tsx';
import { fill } from '../ui/language.tsx';
import { ErrorText, Hint } from '../ui/text.tsx';
import { Tooltip } from '../ui/tooltip.tsx';
import type { ChatMessage } from './branch.ts';
import { useChatMessages } from './messages.ts';
import type { Attachment, AttachmentDraft } from './use-attachments.ts';

type SentFile = ChatMessage['attachments'][number];

const contentPath = (chatId: string, id: string): string => `/v1/chats/${chatId}/attachments/${id}/content`;

/** Returns the reason why a message with these files cannot be sent, or null. */
export function useAttachmentProblem({ pending, uploads }: AttachmentDraft, model: string): string | null {
  const messages = useChatMessages();
  const models = useModels().data?.data;
  const failed = [
    ...uploads.filter(({ failure }) => failure !== null),
    ...pending.filter(({ error }) => error !== null),
  ];
  if (failed[0] !== undefined) return fill(messages.removeFailed, { name: failed[0].name });
  if (uploads.length > 0 || pending.some(({ status }) => status === 'processing')) return messages.waitForFiles;
  const isBlind = models?.find(({ id }) => id === model)?.capabilities.vision === false;
  return isBlind && pending.some(({ kind }) => kind === 'image') ? fill(messages.blind, { model }) : null;
}

/** Files of the draft message with their upload state, above the text. */
export function DraftFiles({ draft, problem }: { draft: AttachmentDraft; problem: string | null }) {
  const messages = useChatMessages();
  const format = useFormat();
  const { pending, uploads, remove, dismiss } = draft;
  if (pending.length + uploads.length === 0) return null;
  const errors = [
    ...pending.flatMap(({ id, name, error }) => (error === null ? [] : [{ id, text: `${name}: ${error.message}` }])),
    ...uploads.flatMap(({ key, name, failure }) =>
      failure === null ? [] : [{ id: key, text: `${name}: ${failure}` }],
    ),
  ];
  return (
    <>
      <ul className="chat-files" aria-label={messages.files}>
        {pending.map((file) => (
          <DraftFile key={file.id} name={file.name} file={file} onRemove={() => remove(file.id)} />
        ))}
        {uploads.map(({ key, name, share, failure }) => {
          const state =
            failure === null ? fill(messages.uploading, { share: format.percent(share) }) : messages.notRead;
          return (
            <DraftFile key={key} name={name} state={state} isFailed={failure !== null} onRemove={() => dismiss(key)} />
          );
        })}
      </ul>
      {errors.map(({ id, text }) => (
        <ErrorText key={id} role="alert">
          {text}
        </ErrorText>
      ))}
      {problem !== null && <Hint role="status">{problem}</Hint>}
    </>
  );
}

interface DraftFileProps {
  name: string;
  /** Absent during the upload. */
  file?: Attachment;
  state?: string;
  isFailed?: boolean;
  onRemove(): void;
}

function DraftFile({ name, file, state, isFailed = file?.status === 'failed', onRemove }: DraftFileProps) {
  const messages = useChatMessages();
  const format = useFormat();
  const isBusy = file === undefined ? !isFailed : file.status === 'processing';
  const icon: LucideIcon = isFailed ? CircleAlert : isBusy ? LoaderCircle : FileText;
  return (
    <li className="chip chat-file" data-failed={isFailed || undefined}>
      {file?.kind === 'image' && !isFailed ? (
        <img src={contentPath(file.chat_id, file.id)} alt="" />
      ) : (
        <Icon icon={icon} className={isBusy ? 'chat-busy' : undefined} />
      )}
      <b title={name}>{name}</b>
      <span>{state ?? (file === undefined ? '' : describeState(file, messages, format.bytes))}</span>
      <button type="button" aria-label={fill(messages.removeKnowledge, { name })} onClick={onRemove}>
        <Icon icon={X} />
      </button>
    </li>
  );
}

function describeState(
  { status, progress, bytes }: Attachment,
  messages: ReturnType<typeof useChatMessages>,
  formatBytes: (bytes: number) => string,
): string {
  if (status === 'failed') return messages.notRead;
  if (status === 'ready') return formatBytes(bytes);
  return progress === null
    ? messages.reading
    : fill(messages.readingPages, { page: progress.page, pages: progress.pages });
}

/** Button that selects files for the draft message. */
export function AttachButton({ onFiles }: { onFiles(files: Iterable<File>): void }) {
  const messages = useChatMessages();
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <Tooltip label={messages.attach}>
        <button type="button" className="chip" aria-label={messages.attach} onClick={() => input.current?.click()}>
          <Icon icon={Paperclip} />
        </button>
      </Tooltip>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label={messages.attach}
        accept={ATTACHMENT_LIMITS.extensions.join(',')}
        onChange={(event) => {
          onFiles([...(event.currentTarget.files ?? [])]);
          event.currentTarget.value = '';
        }}
      />
    </>
  );
}

/** Files of a sent message. */
export function SentFiles({ message: { chat_id: chatId, attachments } }: { message: ChatMessage }) {
  const messages = useChatMessages();
  if (attachments.length === 0) return null;
  return (
    <ul className="chat-files" aria-label={messages.files}>
      {attachments.map((file) => (
        <SentFile key={file.id} chatId={chatId} file={file} />
      ))}
    </ul>
  );
}

function SentFile({ chatId, file: { id, kind, name } }: { chatId: string; file: SentFile }) {
  const [isShown, setShown] = useState(kind === 'image');
  const path = contentPath(chatId, id);
  return (
    <li>
      <a href={path} download className={isShown ? 'chat-image' : 'chip'}>
        {isShown ? (
          // Deleted images are shown by name.
          <img src={path} alt={name} onError={() => setShown(false)} />
        ) : (
          <>
            <Icon icon={FileText} />
            <b title={name}>{name}</b>
          </>
        )}
      </a>
    </li>
  );
}
