import { Button, Tabs } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useMayWrite } from '../api/session.ts';
import { lazyPart } from '../ui/lazy-part.tsx';
import { Page } from '../ui/page.tsx';
import { GuardrailBlocks } from './blocks.tsx';
import { useGuardrailMessages } from './messages.ts';
import { GuardrailPolicies } from './policies.tsx';

const PolicyDialog = lazyPart(() => import('./policy-form.tsx'), 'PolicyDialog');

/** Guardrail policies, and the texts that they have blocked. */
export function GuardrailsPage() {
  const guardrails = useGuardrailMessages();
  const mayWrite = useMayWrite();
  const { tab = 'policies', policy, create = false } = useSearch({ from: '/shell/guardrails' });
  const navigate = useNavigate({ from: '/guardrails' });
  const setCreating = (isCreating: boolean) =>
    void navigate({ search: isCreating ? { create: true } : {}, replace: true });
  const createButton = mayWrite ? <Button onClick={() => setCreating(true)}>{guardrails.create}</Button> : undefined;
  return (
    <Page title={guardrails.title} intro={guardrails.intro} action={createButton}>
      <Tabs
        value={tab}
        onChange={(value) => void navigate({ search: value === 'blocks' ? { tab: 'blocks' } : {} })}
        keepMounted={false}
      >
        <Tabs.List mb="md">
          <Tabs.Tab value="policies">{guardrails.policies}</Tabs.Tab>
          <Tabs.Tab value="blocks">{guardrails.blocks}</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="policies">
          <GuardrailPolicies empty={createButton} />
        </Tabs.Panel>
        <Tabs.Panel value="blocks">
          <GuardrailBlocks policyId={policy} />
        </Tabs.Panel>
      </Tabs>
      {create && mayWrite && <PolicyDialog policy={null} onClose={() => setCreating(false)} />}
    </Page>
  );
}
