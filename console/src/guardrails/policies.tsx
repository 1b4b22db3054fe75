import { Group } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { api, body } from '../api/client.ts';
import { useRefresh } from '../api/refresh.ts';
import { useMayWrite, useSession } from '../api/session.ts';
import { ConfirmButton, RowButton } from '../ui/confirm.tsx';
import { numberColumn } from '../ui/data-table.tsx';
import { Modal } from '../ui/dialogs.tsx';
import { SwitchField } from '../ui/fields.tsx';
import { fill } from '../ui/language.tsx';
import { lazyPart } from '../ui/lazy-part.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { ResourceTable } from '../ui/resource-table.tsx';
import { EmptyState, MutationError } from '../ui/states.tsx';
import { ItemName, Tag } from '../ui/text.tsx';
import { DryRun } from './dry-run.tsx';
import { useGuardrailMessages } from './messages.ts';
import type { Policy } from './policy.ts';

const PolicyDialog = lazyPart(() => import('./policy-form.tsx'), 'PolicyDialog');

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
  const actions = (policy: Policy) => (
    <Group gap={4}>
      <RowButton label={guardrails.test} name={policy.name} onClick={() => setTested(policy)} />
      <RowButton label={guardrails.editAction} name={policy.name} onClick={() => setEdited(policy)} />
      <DeleteButton policy={policy} />
    </Group>
  );
  return (
    <>
      <ResourceTable<Policy>
        label={guardrails.policies}
        queryKey={['policies', organization.id, 'pages']}
        fetchPage={(page) => api.GET('/v1/guardrail-policies', { params: { query: { ...page, order: 'desc' } } })}
        empty={<EmptyState text={guardrails.empty}>{empty}</EmptyState>}
        columns={[
          {
            heading: common.name,
            cell: ({ id, name }) => (
              <ItemName name={name}>{id === applied?.id && <Tag color="teal">{guardrails.applies}</Tag>}</ItemName>
            ),
          },
          { heading: guardrails.enabled, cell: (policy) => <EnabledSwitch policy={policy} /> },
          {
            heading: guardrails.whenFlagged,
            cell: (policy) => (policy.block_on_flag ? guardrails.actions.block : guardrails.actions.warn),
          },
          numberColumn(guardrails.topics, (policy) => policy.topic_deny_list.length),
          { heading: guardrails.applyTo, cell: (policy) => policy.apply_to.map((each) => guardrails[each]).join(', ') },
        ]}
        actions={mayWrite ? actions : null}
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
  const refresh = useRefresh('policies');
  const change = useMutation({
    mutationFn: (enabled: boolean) => {
      const params = { path: { policy_id: policy.id } };
      return api.PUT('/v1/guardrail-policies/{policy_id}', { params, body: { enabled } });
    },
    onSettled: refresh,
  });
  return (
    <>
      <SwitchField
        aria-label={`${guardrails.enabled}: ${policy.name}`}
        checked={change.isPending ? change.variables : policy.enabled}
        disabled={!mayWrite}
        onChange={change.mutate}
      />
      <MutationError mutation={change} />
    </>
  );
}

function DeleteButton({ policy }: { policy: Policy }) {
  const guardrails = useGuardrailMessages();
  const common = useCommonMessages();
  const [applied, next] = usePolicies().filter(({ enabled }) => enabled);
  const isApplied = applied?.id === policy.id;
  const consequence = next === undefined ? guardrails.deleteLast : fill(guardrails.deleteApplied, { next: next.name });
  return (
    <ConfirmButton
      label={common.delete}
      name={policy.name}
      text={isApplied ? consequence : guardrails.deleteUnused}
      action={() => api.DELETE('/v1/guardrail-policies/{policy_id}', { params: { path: { policy_id: policy.id } } })}
      refreshes={['policies']}
    />
  );
}
