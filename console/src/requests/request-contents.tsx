import { Alert, Code, Group, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { api, body } from '../api/client.ts';
import { useMayWrite, useSession } from '../api/session.ts';
import type { Schema } from '../api/types.ts';
import { AddQuestionDialog } from '../evaluations/add-question.tsx';
import { useEvaluationMessages } from '../evaluations/messages.ts';
import { readPromptMessages } from '../playground/recorded-request.ts';
import { ConfirmButton } from '../ui/confirm.tsx';
import { CopyText } from '../ui/copy-text.tsx';
import { DialogButton } from '../ui/form-dialog.tsx';
import { fill } from '../ui/language.tsx';
import { Hint } from '../ui/text.tsx';
import { useRequestMessages } from './messages.ts';
import { useClock } from './use-clock.ts';

/** Recorded contents of a request. */
export type Contents = Schema<'RequestContents'>;

/** A text of the prompt or answer with its author. */
function Entry({ label, children }: { label: string; children: ReactNode }) {
  return (
    <Stack gap={4} component="section">
      <Text size="sm" fw={600} c="dimmed">
        {label}
      </Text>
      {children}
    </Stack>
  );
}

const PlainText = ({ text }: { text: string }) => (
  <Text className="plain-text" size="sm">
    {text}
  </Text>
);

/** Messages of the prompt. Bodies of unknown format are shown as JSON. */
export function PromptView({ contents }: { contents: Contents }) {
  const messages = useRequestMessages();
  const { prompt } = contents;
  const roles: Readonly<Record<string, string>> = messages.roles;
  const entries = readPromptMessages(prompt);
  return (
    <Stack gap="md">
      <Truncated contents={contents} />
      {entries.map(({ role, text, name = '' }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: recorded messages do not change.
        <Entry key={index} label={[roles[role] ?? role, name].filter(Boolean).join(' · ')}>
          {role === 'call' || role === 'tool' ? <Code block>{text}</Code> : <PlainText text={text} />}
        </Entry>
      ))}
      {entries.length === 0 && <CopyText value={JSON.stringify(prompt, null, 2)} />}
      <Expiry contents={contents} />
    </Stack>
  );
}

/** Answer, grouped by model call if there are several. */
export function AnswerView({ contents }: { contents: Contents }) {
  const messages = useRequestMessages();
  const { answer } = contents;
  const isLoop = answer.some(({ call }) => call > 0);
  const labels = { text: messages.roles.assistant, reasoning: messages.reasoning, tool_call: messages.roles.call };
  return (
    <Stack gap="md">
      <Truncated contents={contents} />
      {answer.length === 0 && <Hint>{messages.noAnswer}</Hint>}
      {answer.map(({ type, call, choice, name = '', text }, index) => {
        const place = isLoop ? fill(messages.turn, { turn: call + 1 }) : choice > 0 ? `${choice + 1}` : '';
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: recorded items do not change.
          <Entry key={index} label={[labels[type], name, place].filter(Boolean).join(' · ')}>
            {type === 'tool_call' ? <Code block>{text}</Code> : <PlainText text={text} />}
          </Entry>
        );
      })}
      <Expiry contents={contents} />
    </Stack>
  );
}

function Truncated({ contents }: { contents: Contents }) {
  const messages = useRequestMessages();
  return contents.is_truncated ? <Alert color="yellow">{messages.truncated}</Alert> : null;
}

/** Expiry of the contents, and a button for owners that deletes them. */
function Expiry({ contents }: { contents: Contents }) {
  const messages = useRequestMessages();
  const clock = useClock();
  const { organization } = useSession();
  const { id } = contents;
  const params = { path: { request_id: id } };
  return (
    <Group gap="xs" justify="space-between">
      <Hint>{fill(messages.expires, { time: clock.exact(contents.expires_at) })}</Hint>
      {organization.role === 'owner' && (
        <ConfirmButton
          label={messages.deleteContents}
          name={id}
          title={messages.deleteContents}
          text={messages.deleteContentsText}
          action={() => body(api.DELETE('/v1/requests/{request_id}/contents', { params }))}
          refreshes={['request']}
        />
      )}
    </Group>
  );
}

/** Returns the ids of the searched knowledge bases. */
export function promptBases({ prompt }: Contents): string[] {
  type Tool = { vector_store_ids?: string[]; file_search?: { knowledge_base_ids?: string[] } } | null;
  const { knowledge_bases: bases, tools } = (prompt ?? {}) as { knowledge_bases?: string[]; tools?: Tool[] };
  const searched = (Array.isArray(tools) ? tools : []).flatMap(
    (tool) => tool?.vector_store_ids ?? tool?.file_search?.knowledge_base_ids ?? [],
  );
  return [...(Array.isArray(bases) ? bases : []), ...searched].filter((id) => typeof id === 'string');
}

/** Button that adds the question and answer of a recorded request to a question set. */
export function AddToEvaluationButton({ contents }: { contents: Contents }) {
  const texts = useEvaluationMessages();
  const mayWrite = useMayWrite();
  const question = readPromptMessages(contents.prompt).findLast(({ role }) => role === 'user')?.text ?? '';
  const texted = contents.answer.filter(({ type, choice }) => type === 'text' && choice === 0);
  if (!mayWrite || question === '') return null;
  return (
    <DialogButton label={texts.addToSet} size="sm" variant="default">
      {(close) => (
        <AddQuestionDialog
          kbIds={promptBases(contents)}
          question={question}
          answer={texted.at(-1)?.text ?? ''}
          onClose={close}
        />
      )}
    </DialogButton>
  );
}
