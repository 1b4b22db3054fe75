import { Stack } from '@mantine/core';
import { BellOff } from 'lucide-react';
import { Drawer } from '../ui/dialogs.tsx';
import { EmptyState } from '../ui/states.tsx';
import { AlertCard, type AlertItem } from './alert-card.tsx';
import { useAlertMessages } from './alert-messages.ts';

interface AlertSheetProps {
  isOpen: boolean;
  /** Alerts, newest first. */
  alerts: readonly AlertItem[];
  onClose(): void;
}

/** Sheet of open alerts. */
export default function AlertSheet({ isOpen, alerts, onClose }: AlertSheetProps) {
  const messages = useAlertMessages();
  return (
    <Drawer
      opened={isOpen}
      onClose={onClose}
      position="right"
      size={420}
      title={messages.title}
      classNames={{ content: 'sheet' }}
    >
      <Stack gap="md">
        {alerts.length === 0 && <EmptyState icon={BellOff} text={messages.empty} />}
        {alerts.map((alert) => (
          <AlertCard key={alert.id} alert={alert} onLeave={onClose} />
        ))}
      </Stack>
    </Drawer>
  );
}
