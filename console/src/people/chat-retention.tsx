import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, body } from '../api/client.ts';
import type { Schema } from '../api/types.ts';
import { NumberField, SwitchField } from '../ui/fields.tsx';
import { Section } from '../ui/page.tsx';
import { SettingsForm } from '../ui/settings-form.tsx';
import { QueryData } from '../ui/states.tsx';
import { useSettingsMessages } from './messages.ts';

const QUERY_KEY = ['chat-settings'];

/** Chat settings of the organization for owners: retention and generated titles. */
export function ChatRetentionSection() {
  const settings = useSettingsMessages();
  const query = useQuery({ queryKey: QUERY_KEY, queryFn: () => body(api.GET('/v1/chat-settings')) });
  return (
    <Section title={settings.chats}>
      <QueryData query={query}>{(stored) => <ChatSettingsForm stored={stored} />}</QueryData>
    </Section>
  );
}

function ChatSettingsForm({ stored }: { stored: Schema<'ChatHistorySettings'> }) {
  const settings = useSettingsMessages();
  const [days, setDays] = useState<number | string>(stored.retention_days ?? '');
  const [hasTitles, setTitles] = useState(stored.model_titles);
  const changes = { retention_days: typeof days === 'number' ? days : null, model_titles: hasTitles };
  return (
    <SettingsForm
      queryKey={QUERY_KEY}
      submit={() => body(api.PATCH('/v1/chat-settings', { body: changes }))}
      submitLabel={settings.changeChatDays}
      doneText={settings.chatDaysChanged}
    >
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
      <SwitchField
        label={settings.modelTitles}
        description={settings.modelTitlesHint}
        checked={hasTitles}
        onChange={setTitles}
      />
    </SettingsForm>
  );
}
