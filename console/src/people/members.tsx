import { Button, Group, Radio, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { api, body } from '../api/client.ts';
import { useRefresh } from '../api/refresh.ts';
import { useSession } from '../api/session.ts';
import type { Schema } from '../api/types.ts';
import { INVITATION_NOTE, ROLES } from '../api/values.ts';
import { ConfirmButton } from '../ui/confirm.tsx';
import { CopyText } from '../ui/copy-text.tsx';
import { Modal } from '../ui/dialogs.tsx';
import { ChoiceField, TextField } from '../ui/fields.tsx';
import { DialogButton, Form } from '../ui/form-dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { useCommonMessages } from '../ui/messages.ts';
import { Page, Section } from '../ui/page.tsx';
import { ResourceTable } from '../ui/resource-table.tsx';
import { MutationError } from '../ui/states.tsx';
import { ItemName, Tag } from '../ui/text.tsx';
import { useMemberMessages, useSignInMessages } from './messages.ts';

type Member = Schema<'Member'>;
type Role = Member['role'];

/** People of the organization, and open invitations. */
export function MembersPage() {
  const members = useMemberMessages();
  const { organization } = useSession();
  const isOwner = organization.role === 'owner';
  const invite = <DialogButton label={members.invite}>{(close) => <InviteDialog onClose={close} />}</DialogButton>;
  return (
    <Page title={members.title} intro={members.intro} action={isOwner && invite}>
      <MembersTable organizationId={organization.id} isOwner={isOwner} />
      {isOwner && <Invitations organizationId={organization.id} />}
    </Page>
  );
}

function MembersTable({ organizationId, isOwner }: { organizationId: string; isOwner: boolean }) {
  const members = useMemberMessages();
  const common = useCommonMessages();
  const signIn = useSignInMessages();
  const refresh = useRefresh('members');
  const changeRole = useMutation({
    mutationFn: ({ id, role }: { id: string; role: Role }) =>
      api.PATCH('/v1/admin/members/{user_id}', { params: { path: { user_id: id } }, body: { role } }),
    onSettled: refresh,
  });
  return (
    <>
      <MutationError mutation={changeRole} />
      <ResourceTable<Member>
        label={members.title}
        queryKey={['members', organizationId]}
        fetchPage={(query) => api.GET('/v1/admin/members', { params: { query } })}
        empty={common.none}
        columns={[
          { heading: common.name, cell: (member) => <MemberName member={member} /> },
          { heading: signIn.email, cell: (member) => member.email },
          {
            heading: members.role,
            cell: (member) =>
              isOwner ? (
                <ChoiceField
                  aria-label={`${members.role}: ${member.name}`}
                  size="xs"
                  w={150}
                  values={ROLES}
                  labels={members.roles}
                  value={member.role}
                  onChange={(role) => changeRole.mutate({ id: member.id, role })}
                />
              ) : (
                members.roles[member.role]
              ),
          },
        ]}
        actions={isOwner ? (member) => <MemberActions member={member} /> : null}
      />
    </>
  );
}

function MemberName({ member }: { member: Member }) {
  const members = useMemberMessages();
  const { user } = useSession();
  return (
    <ItemName name={member.name}>
      {member.id === user.id && <Tag variant="default">{members.you}</Tag>}
      {member.is_operator && <Tag>{members.operator}</Tag>}
    </ItemName>
  );
}

/** Removal and password reset of another member. */
function MemberActions({ member }: { member: Member }) {
  const members = useMemberMessages();
  const { user } = useSession();
  const [token, setToken] = useState<string | null>(null);
  const params = { path: { user_id: member.id } };
  if (member.id === user.id) return null;
  return (
    <Group gap={4} wrap="nowrap">
      <ConfirmButton
        label={members.reset}
        name={member.name}
        text={members.resetText}
        color="blue"
        action={async () =>
          setToken((await body(api.POST('/v1/admin/users/{user_id}/password-reset', { params }))).token)
        }
      />
      <ConfirmButton
        label={members.remove}
        name={member.name}
        text={members.removeText}
        action={() => api.DELETE('/v1/admin/members/{user_id}', { params })}
        refreshes={['members']}
      />
      <Modal opened={token !== null} onClose={() => setToken(null)} title={members.resetLink} size="lg">
        {token !== null && (
          <LinkOnce text={members.resetLinkText} link={`/reset#${token}`} onClose={() => setToken(null)} />
        )}
      </Modal>
    </Group>
  );
}

/** A link that is shown once. */
function LinkOnce({ text, link, onClose }: { text: string; link: string; onClose(): void }) {
  const common = useCommonMessages();
  return (
    <Stack>
      <Text>{text}</Text>
      <CopyText value={location.origin + link} />
      <Group justify="flex-end">
        <Button onClick={onClose}>{common.close}</Button>
      </Group>
    </Stack>
  );
}

function Invitations({ organizationId }: { organizationId: string }) {
  const members = useMemberMessages();
  const common = useCommonMessages();
  const format = useFormat();
  return (
    <Section title={members.invitations}>
      <ResourceTable<Schema<'Invitation'>>
        label={members.invitations}
        queryKey={['invitations', organizationId]}
        fetchPage={(query) => api.GET('/v1/admin/invitations', { params: { query } })}
        empty={<Text c="dimmed">{common.none}</Text>}
        columns={[
          { heading: members.note, cell: (invitation) => invitation.note ?? '' },
          { heading: members.role, cell: (invitation) => members.roles[invitation.role] },
          { heading: members.expires, cell: (invitation) => format.time(invitation.expires_at) },
        ]}
        actions={({ id, note }) => (
          <ConfirmButton
            label={members.withdraw}
            title={members.withdraw}
            text={note ?? ''}
            action={() =>
              api.DELETE('/v1/admin/invitations/{invitation_id}', { params: { path: { invitation_id: id } } })
            }
            refreshes={['invitations']}
          />
        )}
      />
    </Section>
  );
}

function InviteDialog({ onClose }: { onClose(): void }) {
  const members = useMemberMessages();
  const [role, setRole] = useState<Role>('developer');
  const [note, setNote] = useState('');
  const refresh = useRefresh('invitations');
  const mutation = useMutation({
    mutationFn: () => body(api.POST('/v1/admin/invitations', { body: { role, note: note === '' ? null : note } })),
    onSuccess: refresh,
  });
  return (
    <Modal opened onClose={onClose} title={members.inviteTitle} size="lg">
      {mutation.isSuccess ? (
        <LinkOnce text={members.linkText} link={`/join#${mutation.data.token}`} onClose={onClose} />
      ) : (
        <Form submitLabel={members.invite} onCancel={onClose} mutation={mutation}>
          <TextField
            param="note"
            label={members.note}
            data-autofocus
            {...INVITATION_NOTE}
            value={note}
            onChange={setNote}
          />
          <Radio.Group label={members.role} value={role} onChange={(value) => setRole(value as Role)}>
            <Stack gap="xs" mt="xs">
              {ROLES.map((each) => (
                <Radio key={each} value={each} label={members.roles[each]} description={members.roleHints[each]} />
              ))}
            </Stack>
          </Radio.Group>
        </Form>
      )}
    </Modal>
  );
}
