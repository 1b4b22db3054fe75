import { Anchor, Button, Group, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import type { CSSProperties, MouseEvent } from 'react';
import { api, body } from '../api/client.ts';
import { useRefresh } from '../api/refresh.ts';
import { useMayWrite } from '../api/session.ts';
import type { Schema } from '../api/types.ts';
import { useFormat } from '../ui/format.ts';
import { fill } from '../ui/language.tsx';
import { MutationError } from '../ui/states.tsx';
import { Hint } from '../ui/text.tsx';
import { useAlertMessages } from './alert-messages.ts';

/** An alert of the API. */
export type AlertItem = Schema<'AlertResource'>;

/** Returns the texts of an alert in the language of the console. */
function useAlertTexts({ kind, name, resource_id, details }: AlertItem) {
  const messages = useAlertMessages();
  const format = useFormat();
  const { error, models, since, threshold_percent: threshold, is_enforced: isEnforced } = details;
  const values = {
    name,
    error: error ?? '',
    models: models?.join(', ') ?? '',
    since: since === null ? '' : format.time(since),
    percent: threshold === null ? '' : format.percent(threshold / 100),
  };
  const isWal = resource_id === 'wal';
  const summary = kind === 'backup_stale' ? (isWal ? 'backup_wal' : 'backup_schedule') : kind;
  const isRejecting = isEnforced === true && (threshold ?? 0) >= 100;
  return {
    summary: fill(messages.summaries[summary], values),
    consequence: fill(messages.consequences[isRejecting ? 'budget_rejecting' : kind], values),
    nextStep: messages.nextSteps[kind],
  };
}

/** Card of an alert: summary, consequence, next step and a link to the cause. */
export function AlertCard({ alert, onLeave }: { alert: AlertItem; onLeave?: () => void }) {
  const messages = useAlertMessages();
  const format = useFormat();
  const texts = useAlertTexts(alert);
  const mayWrite = useMayWrite();
  const refresh = useRefresh('alerts');
  const acknowledge = useMutation({
    mutationFn: () =>
      body(api.POST('/v1/alerts/{alert_id}/acknowledge', { params: { path: { alert_id: alert.id } } })).then(refresh),
  });
  const { history } = useRouter();
  const open = (event: MouseEvent) => {
    // Modified clicks open a new tab.
    if (event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    history.push(alert.path);
    onLeave?.();
  };
  const isOpen = alert.status === 'open';
  const isNew = isOpen && alert.acknowledged_at === null;
  const state = isNew ? 'bad' : isOpen ? 'warn' : 'ok';
  return (
    <Stack component="article" gap={6} className="alert-card" aria-label={texts.summary}>
      <Group justify="space-between" wrap="nowrap">
        <span className="status" style={{ '--status-color': `var(--${state})` } as CSSProperties}>
          {messages.kinds[alert.kind]}
        </span>
        <Hint size="xs">{format.time(alert.created_at)}</Hint>
      </Group>
      <Text fw={500} className="breakable">
        {texts.summary}
      </Text>
      <Hint className="breakable">{texts.consequence}</Hint>
      <Text size="sm">{texts.nextStep}</Text>
      <MutationError mutation={acknowledge} />
      <Group gap="sm">
        <Anchor href={alert.path} onClick={open} size="sm">
          {messages.show}
        </Anchor>
        {isNew && mayWrite && (
          <Button
            size="compact-sm"
            variant="default"
            loading={acknowledge.isPending}
            onClick={() => acknowledge.mutate()}
          >
            {messages.acknowledge}
          </Button>
        )}
        {isOpen && !isNew && <Hint>{messages.acknowledged}</Hint>}
        {alert.resolved_at !== null && <Hint>{fill(messages.resolved, { time: format.time(alert.resolved_at) })}</Hint>}
      </Group>
    </Stack>
  );
}
