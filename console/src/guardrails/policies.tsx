import { Badge, Button, Group, Modal, Switch, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { api, body } from '../api/client.ts';
import { useMayWrite, useSession } from '../api/session.ts';
import { ConfirmButton } from '../ui/confirm.tsx';
import { fill } from '../ui/language.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { ResourceTable } from '../ui/resource-table.tsx';
import { EmptyState, ErrorState } from '../ui/states.tsx';
import { DryRun } from './dry-run.tsx';
import { useGuardrailMessages } from './messages.ts';
import type { Policy } from './policy.ts';
import { PolicyDialog } from './policy-form.tsx';

/** Policies that are searched for the one that applies. */
const LISTED_POLICIES = 100;

/** The policies, newest first, with what can be done with them. `empty`: the action without any policy. */
export function GuardrailPolicies({ empty }: { empty: ReactNode }) {
  const guardrails = useGuardrailMessages();
  const common = useCommonMessages();
  const { organization } = useSession();
  const mayWrite = useMayWrite();
  const [edited, setEdited] = useState<Policy | null>(null);
  const [tested, setTested] = useState<Policy | null>(null);
  const [applied] = usePolicies().filter(({ enabled }) => enabled);
  return (
    <>
      <ResourceTable<Policy>
        label={guardrails.policies}
        queryKey={['policies', organization.id, 'pages']}
        fetchPage={(after) => {
          const query = { after, limit: 50, order: 'desc' as const };
          return body(api.GET('/v1/guardrail-policies', { params: { query } }));
        }}
        rowKey={(policy) => policy.id}
        empty={<EmptyState text={guardrails.empty}>{empty}</EmptyState>}
        columns={[
          {
            heading: common.name,
            cell: (policy) => <PolicyName name={policy.name} isApplied={policy.id === applied?.id} />,
          },
          { heading: guardrails.enabled, cell: (policy) => <EnabledSwitch policy={policy} /> },
          {
            heading: guardrails.whenFlagged,
            cell: (policy) => (policy.block_on_flag ? guardrails.actions.block : guardrails.actions.warn),
          },
          { heading: guardrails.topics, cell: (policy) => policy.topic_deny_list.length, isNumber: true },
          { heading: guardrails.applyTo, cell: (policy) => policy.apply_to.map((each) => guardrails[each]).join(', ') },
          {
            heading: common.actions,
            cell: (policy) =>
              mayWrite && (
                <Group gap={4}>
                  <Button size="compact-sm" variant="subtle" onClick={() => setTested(policy)}>
                    {guardrails.test}
                  </Button>
                  <Button size="compact-sm" variant="subtle" onClick={() => setEdited(policy)}>
                    {guardrails.editAction}
                  </Button>
                  <DeleteButton policy={policy} />
                </Group>
              ),
          },
        ]}
      />
      {edited !== null && <PolicyDialog policy={edited} onClose={() => setEdited(null)} />}
      {tested !== null && (
        <Modal opened onClose={() => setTested(null)} title={`${guardrails.test}: ${tested.name}`} size="lg">
          <DryRun policy={tested} />
        </Modal>
      )}
    </>
  );
}

function PolicyName({ name, isApplied }: { name: string; isApplied: boolean }) {
  const guardrails = useGuardrailMessages();
  return (
    <Group gap="xs">
      <Text fw={500} style={{ overflowWrap: 'anywhere' }}>
        {name}
      </Text>
      {isApplied && (
        <Badge variant="light" color="teal" tt="none" miw="max-content">
          {guardrails.applies}
        </Badge>
      )}
    </Group>
  );
}

/** The newest policies of the organization. */
export function usePolicies(): Policy[] {
  const { organization } = useSession();
  const query = useQuery({
    queryKey: ['policies', organization.id, 'newest'],
    queryFn: () =>
      body(api.GET('/v1/guardrail-policies', { params: { query: { limit: LISTED_POLICIES, order: 'desc' } } })),
  });
  return query.data?.data ?? [];
}

function EnabledSwitch({ policy }: { policy: Policy }) {
  const guardrails = useGuardrailMessages();
  const mayWrite = useMayWrite();
  const queryClient = useQueryClient();
  const change = useMutation({
    mutationFn: (enabled: boolean) => {
      const params = { path: { policy_id: policy.id } };
      return api.PUT('/v1/guardrail-policies/{policy_id}', { params, body: { enabled } });
    },
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['policies'] }),
  });
  return (
    <>
      <Switch
        aria-label={`${guardrails.enabled}: ${policy.name}`}
        checked={change.isPending ? change.variables : policy.enabled}
        disabled={!mayWrite}
        onChange={(event) => change.mutate(event.currentTarget.checked)}
      />
      {change.isError && <ErrorState error={change.error} />}
    </>
  );
}

function DeleteButton({ policy }: { policy: Policy }) {
  const guardrails = useGuardrailMessages();
  const common = useCommonMessages();
  const queryClient = useQueryClient();
  const [applied, next] = usePolicies().filter(({ enabled }) => enabled);
  const isApplied = applied?.id === policy.id;
  const consequence = next === undefined ? guardrails.deleteLast : fill(guardrails.deleteApplied, { next: next.name });
  return (
    <ConfirmButton
      label={common.delete}
      title={`${common.delete}: ${policy.name}`}
      text={isApplied ? consequence : guardrails.deleteUnused}
      action={async () => {
        await api.DELETE('/v1/guardrail-policies/{policy_id}', { params: { path: { policy_id: policy.id } } });
        await queryClient.invalidateQueries({ queryKey: ['policies'] });
      }}
    />
  );
}
