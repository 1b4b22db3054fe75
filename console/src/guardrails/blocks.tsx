import { Code, Group, Stack, Text } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { api } from '../api/client.ts';
import { useSession } from '../api/session.ts';
import type { Schema } from '../api/types.ts';
import type { Column } from '../ui/data-table.tsx';
import { FilterField } from '../ui/filter-field.tsx';
import { useFormat } from '../ui/format.ts';
import { useCommonMessages } from '../ui/messages.ts';
import { ResourceTable } from '../ui/resource-table.tsx';
import { Hint, ItemName, PageLink } from '../ui/text.tsx';
import { useGuardrailMessages } from './messages.ts';
import { usePolicies } from './policies.tsx';

type Block = Schema<'GuardrailBlock'>;

const REFRESH_MS = 10_000;

/** Lists blocked texts, newest first, without their content. `policyId` selects one policy. */
export function GuardrailBlocks({ policyId }: { policyId: string | undefined }) {
  const guardrails = useGuardrailMessages();
  const { organization } = useSession();
  const navigate = useNavigate({ from: '/guardrails' });
  const policies = usePolicies();
  const columns = useColumns(new Map(policies.map(({ id, name }) => [id, name])));
  return (
    <Stack>
      <Group align="flex-end">
        <FilterField
          isLabelled
          label={guardrails.policy}
          placeholder={guardrails.allPolicies}
          searchable={policies.length > 10}
          data={policies.map(({ id, name }) => ({ value: id, label: name }))}
          value={policyId}
          onChange={(policy) => void navigate({ search: { tab: 'blocks', policy } })}
          clearButtonProps={{ 'aria-label': guardrails.allPolicies }}
        />
        <Hint>{guardrails.blocksHint}</Hint>
      </Group>
      <ResourceTable<Block>
        label={guardrails.blocks}
        queryKey={['guardrail-blocks', organization.id, policyId]}
        refreshMs={REFRESH_MS}
        fetchPage={(page) => {
          const query = { ...page, order: 'desc' as const, policy_id: policyId };
          return api.GET('/v1/guardrail-blocks', { params: { query } });
        }}
        empty={guardrails.noBlocks}
        columns={columns}
      />
    </Stack>
  );
}

function useColumns(policyNames: ReadonlyMap<string, string>): Column<Block>[] {
  const guardrails = useGuardrailMessages();
  const common = useCommonMessages();
  const format = useFormat();
  const { scopes } = useSession();
  return [
    { heading: common.created, cell: (block) => format.time(block.created_at) },
    {
      heading: guardrails.policy,
      cell: (block) => (
        <Text size="sm" className="breakable">
          {policyNames.get(block.policy_id) ?? `…${block.policy_id.slice(-6)}`}
        </Text>
      ),
    },
    {
      heading: guardrails.reasons,
      cell: (block) => (
        <Text size="sm" className="breakable">
          {block.reasons.join(' · ')}
        </Text>
      ),
    },
    { heading: guardrails.direction, cell: (block) => guardrails[block.stage] },
    { heading: guardrails.model, cell: ({ model, route }) => <ItemName name={model} note={route} /> },
    {
      heading: guardrails.caller,
      cell: ({ key_id }) =>
        key_id.startsWith('key_') && scopes.includes('keys') ? (
          <PageLink to="/keys/$keyId" params={{ keyId: key_id }}>
            …{key_id.slice(-8)}
          </PageLink>
        ) : (
          <Code>…{key_id.slice(-8)}</Code>
        ),
    },
  ];
}
