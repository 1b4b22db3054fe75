import { Group } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, body } from '../api/client.ts';
import type { Schema } from '../api/types.ts';
import { ConfirmButton } from '../ui/confirm.tsx';
import { CheckboxField, MultiSelectField, NumberField, TextAreaField } from '../ui/fields.tsx';
import { Section } from '../ui/page.tsx';
import { SettingsForm } from '../ui/settings-form.tsx';
import { QueryData } from '../ui/states.tsx';
import { useSettingsMessages } from './messages.ts';

type Recording = Schema<'RequestRecording'>;

const QUERY_KEY = ['request-recording'];

/** Recording settings of the organization for owners. */
export function RecordingSection() {
  const settings = useSettingsMessages();
  const query = useQuery({ queryKey: QUERY_KEY, queryFn: () => body(api.GET('/v1/request-recording')) });
  return (
    <Section title={settings.recording}>
      <QueryData query={query}>
        {(stored) => (
          <>
            <RecordingForm stored={stored} />
            {stored.has_contents && (
              <Group>
                <ConfirmButton
                  label={settings.deleteRecorded}
                  title={settings.deleteRecorded}
                  text={settings.deleteRecordedText}
                  action={() => body(api.DELETE('/v1/request-recording/contents'))}
                  refreshes={['request-recording', 'request', 'request-contents']}
                />
              </Group>
            )}
          </>
        )}
      </QueryData>
    </Section>
  );
}

function RecordingForm({ stored }: { stored: Recording }) {
  const settings = useSettingsMessages();
  const [enabled, setEnabled] = useState(stored.enabled);
  const [days, setDays] = useState<number | string>(stored.retention_days);
  const [detectors, setDetectors] = useState<string[]>(stored.detectors);
  const [patterns, setPatterns] = useState(stored.patterns.join('\n'));
  const changes = {
    enabled,
    detectors: detectors as Recording['detectors'],
    patterns: patterns.split('\n').filter((pattern) => pattern !== ''),
    ...(typeof days === 'number' && { retention_days: days }),
  };
  const kinds = Object.entries(settings.detectors).map(([value, label]) => ({ value, label }));
  return (
    <SettingsForm
      queryKey={QUERY_KEY}
      submit={() => body(api.PATCH('/v1/request-recording', { body: changes }))}
      submitLabel={settings.changeRecording}
      doneText={settings.recordingChanged}
    >
      <CheckboxField
        label={settings.records}
        description={settings.recordsHint}
        checked={enabled}
        onChange={setEnabled}
      />
      <NumberField
        param="retention_days"
        label={settings.recordingDays}
        required
        min={1}
        max={365}
        allowDecimal={false}
        value={days}
        onChange={setDays}
      />
      <MultiSelectField
        param="detectors"
        label={settings.redacted}
        data={kinds}
        value={detectors}
        onChange={setDetectors}
      />
      <TextAreaField
        param="patterns"
        label={settings.patterns}
        description={settings.patternsHint}
        autosize
        minRows={2}
        maxRows={8}
        styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
        value={patterns}
        onChange={setPatterns}
      />
    </SettingsForm>
  );
}
