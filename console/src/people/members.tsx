import { Badge, Button, Group, Modal, Radio, Select, Stack, Text, Title } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, body } from '../api/client.ts';
import type { paths } from '../api/schema.d.ts';
import { useSession } from '../api/session.ts';
import { ConfirmButton } from '../ui/confirm.tsx';
import { CopyText } from '../ui/copy-text.tsx';
import { TextField } from '../ui/fields.tsx';
import { Form } from '../ui/form-dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { useCommonMessages } from '../ui/messages.ts';
import { Page } from '../ui/page.tsx';
import { ResourceTable } from '../ui/resource-table.tsx';
import { ErrorState } from '../ui/states.tsx';
import { useMemberMessages, useSignInMessages } from './messages.ts';

type Member = paths['/v1/admin/members']['get']['responses'][200]['content']['application/json']['data'][number];
type Invitation =
  paths['/v1/admin/invitations']['get']['responses'][200]['content']['application/json']['data'][number];
type Role = Member['role'];

const ROLES: readonly Role[] = ['owner', 'developer', 'viewer'];

/** People of the organization, and open invitations. */
export function MembersPage() {
  const members = useMemberMessages();
  const { organization } = useSession();
  const isOwner = organization.role === 'owner';
  const queryClient = useQueryClient();
  const [isInviting, setInviting] = useState(false);
  const invitationsKey = ['invitations', organization.id];
  return (
    <Page
      title={members.title}
      intro={members.intro}
      action={isOwner ? <Button onClick={() => setInviting(true)}>{members.invite}</Button> : undefined}
    >
      <MembersTable queryKey={['members', organization.id]} isOwner={isOwner} />
      {isOwner && <Invitations queryKey={invitationsKey} />}
      <InviteDialog
        isOpen={isInviting}
        onClose={() => {
          setInviting(false);
          void queryClient.invalidateQueries({ queryKey: invitationsKey });
        }}
      />
    </Page>
  );
}

function MembersTable({ queryKey, isOwner }: { queryKey: readonly string[]; isOwner: boolean }) {
  const members = useMemberMessages();
  const common = useCommonMessages();
  const signIn = useSignInMessages();
  const queryClient = useQueryClient();
  const changeRole = useMutation({
    mutationFn: ({ id, role }: { id: string; role: Role }) =>
      api.PATCH('/v1/admin/members/{user_id}', { params: { path: { user_id: id } }, body: { role } }),
    onSettled: () => queryClient.invalidateQueries({ queryKey }),
  });
  return (
    <>
      {changeRole.isError && <ErrorState error={changeRole.error} />}
      <ResourceTable<Member>
        label={members.title}
        queryKey={queryKey}
        fetchPage={(after) => body(api.GET('/v1/admin/members', { params: { query: { after, limit: 50 } } }))}
        rowKey={(member) => member.id}
        empty={common.none}
        columns={[
          { heading: common.name, cell: (member) => <MemberName member={member} /> },
          { heading: signIn.email, cell: (member) => member.email },
          {
            heading: members.role,
            cell: (member) =>
              isOwner ? (
                <Select
                  aria-label={`${members.role}: ${member.name}`}
                  size="xs"
                  w={150}
                  allowDeselect={false}
                  value={member.role}
                  data={ROLES.map((role) => ({ value: role, label: members.roles[role] }))}
                  onChange={(role) => role !== null && changeRole.mutate({ id: member.id, role: role as Role })}
                />
              ) : (
                members.roles[member.role]
              ),
          },
          ...(isOwner
            ? [
                {
                  heading: common.actions,
                  cell: (member: Member) => <MemberActions member={member} queryKey={queryKey} />,
                },
              ]
            : []),
        ]}
      />
    </>
  );
}

function MemberName({ member }: { member: Member }) {
  const members = useMemberMessages();
  const { user } = useSession();
  return (
    <Group gap="xs">
      <Text fw={500}>{member.name}</Text>
      {member.id === user.id && (
        <Badge variant="default" tt="none">
          {members.you}
        </Badge>
      )}
      {member.is_operator && (
        <Badge variant="light" tt="none">
          {members.operator}
        </Badge>
      )}
    </Group>
  );
}

/** Removal and password reset of another member. */
function MemberActions({ member, queryKey }: { member: Member; queryKey: readonly string[] }) {
  const members = useMemberMessages();
  const { user } = useSession();
  const queryClient = useQueryClient();
  const [token, setToken] = useState<string | null>(null);
  const params = { path: { user_id: member.id } };
  if (member.id === user.id) return null;
  return (
    <Group gap={4} wrap="nowrap">
      <ConfirmButton
        label={members.reset}
        title={`${members.reset}: ${member.name}`}
        text={members.resetText}
        color="blue"
        action={async () => {
          const created = await body(api.POST('/v1/admin/users/{user_id}/password-reset', { params }));
          setToken(created.token);
        }}
      />
      <ConfirmButton
        label={members.remove}
        title={`${members.remove}: ${member.name}`}
        text={members.removeText}
        action={async () => {
          await api.DELETE('/v1/admin/members/{user_id}', { params });
          await queryClient.invalidateQueries({ queryKey });
        }}
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

function Invitations({ queryKey }: { queryKey: readonly string[] }) {
  const members = useMemberMessages();
  const common = useCommonMessages();
  const format = useFormat();
  const queryClient = useQueryClient();
  return (
    <Stack>
      <Title order={2} size="h4">
        {members.invitations}
      </Title>
      <ResourceTable<Invitation>
        label={members.invitations}
        queryKey={queryKey}
        fetchPage={(after) => body(api.GET('/v1/admin/invitations', { params: { query: { after, limit: 50 } } }))}
        rowKey={(invitation) => invitation.id}
        empty={<Text c="dimmed">{common.none}</Text>}
        columns={[
          { heading: members.note, cell: (invitation) => invitation.note ?? '' },
          { heading: members.role, cell: (invitation) => members.roles[invitation.role] },
          { heading: members.expires, cell: (invitation) => format.time(invitation.expires_at) },
          {
            heading: common.actions,
            cell: (invitation) => (
              <ConfirmButton
                label={members.withdraw}
                title={members.withdraw}
                text={invitation.note ?? ''}
                action={async () => {
                  const path = { invitation_id: invitation.id };
                  await api.DELETE('/v1/admin/invitations/{invitation_id}', { params: { path } });
                  await queryClient.invalidateQueries({ queryKey });
                }}
              />
            ),
          },
        ]}
      />
    </Stack>
  );
}

function InviteDialog({ isOpen, onClose }: { isOpen: boolean; onClose(): void }) {
  const members = useMemberMessages();
  const [role, setRole] = useState<Role>('developer');
  const [note, setNote] = useState('');
  const mutation = useMutation({
    mutationFn: () => body(api.POST('/v1/admin/invitations', { body: { role, note: note === '' ? null : note } })),
  });
  const close = () => {
    mutation.reset();
    setNote('');
    onClose();
  };
  return (
    <Modal opened={isOpen} onClose={close} title={members.inviteTitle} size="lg">
      {mutation.isSuccess ? (
        <LinkOnce text={members.linkText} link={`/join#${mutation.data.token}`} onClose={close} />
      ) : (
        <Form submitLabel={members.invite} onCancel={close} mutation={mutation}>
          <TextField
            param="note"
            label={members.note}
            data-autofocus
            maxLength={100}
            value={note}
            onChange={(event) => setNote(event.currentTarget.value)}
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
