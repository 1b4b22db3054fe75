import { useState } from 'react';
import { api } from '../api/client.ts';
import type { Schema } from '../api/types.ts';
import { NumberField, SwitchField } from '../ui/fields.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { QueryData } from '../ui/states.tsx';
import { Hint } from '../ui/text.tsx';
import { KeyBounds } from './key-form.tsx';
import { toPolicyBody, toPolicyFields } from './key-properties.ts';
import { useKeyMessages } from './messages.ts';
import { useKeyPolicy } from './use-key-policy.ts';

const DAY_SECONDS = 86_400;
const DEFAULT_KEYS = 3;

/** Changes what people may give to keys of their own. */
export function KeyPolicyDialog({ onClose }: { onClose(): void }) {
  const policy = useKeyPolicy();
  return <QueryData query={policy}>{(loaded) => <PolicyForm policy={loaded} onClose={onClose} />}</QueryData>;
}

function PolicyForm({ policy, onClose }: { policy: Schema<'KeyPolicy'>; onClose(): void }) {
  const keys = useKeyMessages();
  const lifetime = policy.max_lifetime_seconds;
  const [enabled, setEnabled] = useState(policy.enabled);
  const [maxKeys, setMaxKeys] = useState<number | string>(policy.enabled ? policy.max_keys : DEFAULT_KEYS);
  const [days, setDays] = useState<number | string>(lifetime === null ? '' : lifetime / DAY_SECONDS);
  const [fields, setFields] = useState(() => toPolicyFields(policy));
  const submit = () =>
    api.PUT('/v1/key-policy', {
      body: {
        enabled,
        max_keys: Number(maxKeys),
        max_lifetime_seconds: days === '' ? null : Math.round(Number(days) * DAY_SECONDS),
        ...toPolicyBody(fields),
      },
    });
  return (
    <FormDialog title={keys.policy} onClose={onClose} submit={submit} refreshes={['keys']} size="lg">
      <Hint>{keys.policyHint}</Hint>
      <SwitchField label={keys.policyEnabled} checked={enabled} onChange={setEnabled} />
      {enabled && (
        <>
          <NumberField
            param="max_keys"
            label={keys.maxKeys}
            required
            min={1}
            max={100}
            allowDecimal={false}
            value={maxKeys}
            onChange={setMaxKeys}
          />
          <NumberField
            param="max_lifetime_seconds"
            label={keys.maxDays}
            description={keys.expiresHint}
            min={1}
            max={3650}
            value={days}
            onChange={setDays}
          />
          <KeyBounds fields={fields} set={(changes) => setFields({ ...fields, ...changes })} />
        </>
      )}
    </FormDialog>
  );
}
