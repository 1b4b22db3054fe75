import { Alert, Button, Stack } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, body } from '../api/client.ts';
import { NumberField } from '../ui/fields.tsx';
import { Section } from '../ui/page.tsx';
import { MutationError, QueryData } from '../ui/states.tsx';
import { ValidatedForm } from '../ui/validated-form.tsx';
import { useSettingsMessages } from './messages.ts';

const QUERY_KEY = ['chat-settings'];

/** How long the organization keeps chats, for its owners. */
export function ChatRetentionSection() {
  const settings = useSettingsMessages();
  const query = useQuery({ queryKey: QUERY_KEY, queryFn: () => body(api.GET('/v1/chat-settings')) });
  return (
    <Section title={settings.chats}>
      <QueryData query={query}>{({ retention_days: days }) => <RetentionForm stored={days} />}</QueryData>
    </Section>
  );
}

function RetentionForm({ stored }: { stored: number | null }) {
  const settings = useSettingsMessages();
  const queryClient = useQueryClient();
  const [days, setDays] = useState<number | string>(stored ?? '');
  const mutation = useMutation({
    mutationFn: () => {
      const retention = typeof days === 'number' ? days : null;
      return body(api.PATCH('/v1/chat-settings', { body: { retention_days: retention } }));
    },
    onSuccess: (changed) => queryClient.setQueryData(QUERY_KEY, changed),
  });
  return (
    <ValidatedForm mutation={mutation}>
      <Stack maw={420}>
        <NumberField
          param="retention_days"
          label={settings.chatDays}
          description={settings.chatDaysHint}
          min={1}
          max={3650}
          allowDecimal={false}
          value={days}
          onChange={setDays}
        />
        <MutationError mutation={mutation} />
        {mutation.isSuccess && <Alert color="teal">{settings.chatDaysChanged}</Alert>}
        <Button type="submit" loading={mutation.isPending}>
          {settings.changeChatDays}
        </Button>
      </Stack>
    </ValidatedForm>
  );
}
