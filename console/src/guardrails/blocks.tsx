import { Anchor, Code, Group, Select, Stack, Text } from '@mantine/core';
import { Link, useNavigate } from '@tanstack/react-router';
import { api, body } from '../api/client.ts';
import type { paths } from '../api/schema.d.ts';
import { useSession } from '../api/session.ts';
import { useFormat } from '../ui/format.ts';
import { useCommonMessages } from '../ui/messages.ts';
import { type Column, ResourceTable } from '../ui/resource-table.tsx';
import { useGuardrailMessages } from './messages.ts';
import { usePolicies } from './policies.tsx';

type Block = paths['/v1/guardrail-blocks']['get']['responses'][200]['content']['application/json']['data'][number];

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
        <Select
          label={guardrails.policy}
          placeholder={guardrails.allPolicies}
          clearable
          searchable={policies.length > 10}
          data={policies.map(({ id, name }) => ({ value: id, label: name }))}
          value={policyId ?? null}
          onChange={(value) => void navigate({ search: { tab: 'blocks', policy: value ?? undefined } })}
          clearButtonProps={{ 'aria-label': guardrails.allPolicies }}
        />
        <Text size="sm" c="dimmed">
          {guardrails.blocksHint}
        </Text>
      </Group>
      <ResourceTable<Block>
        label={guardrails.blocks}
        queryKey={['guardrail-blocks', organization.id, policyId]}
        refreshMs={REFRESH_MS}
        fetchPage={(after) => {
          const query = { after, limit: 25, order: 'desc' as const, ...(policyId && { policy_id: policyId }) };
          return body(api.GET('/v1/guardrail-blocks', { params: { query } }));
        }}
        rowKey={(block) => block.id}
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
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          {policyNames.get(block.policy_id) ?? `…${block.policy_id.slice(-6)}`}
        </Text>
      ),
    },
    {
      heading: guardrails.reasons,
      cell: (block) => (
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          {block.reasons.join(' · ')}
        </Text>
      ),
    },
    { heading: guardrails.direction, cell: (block) => guardrails[block.stage] },
    {
      heading: guardrails.model,
      cell: (block) => (
        <div>
          <Text size="sm">{block.model}</Text>
          <Text size="xs" c="dimmed">
            {block.route}
          </Text>
        </div>
      ),
    },
    {
      heading: guardrails.caller,
      cell: ({ key_id }) =>
        key_id.startsWith('key_') && scopes.includes('keys') ? (
          <Anchor component={Link} to="/keys/$keyId" params={{ keyId: key_id } as never} size="sm">
            …{key_id.slice(-8)}
          </Anchor>
        ) : (
          <Code>…{key_id.slice(-8)}</Code>
        ),
    },
  ];
}
