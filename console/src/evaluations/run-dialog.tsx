import { useState } from 'react';
import { api, body } from '../api/client.ts';
import type { Schema } from '../api/types.ts';
import { FormDialog } from '../ui/form-dialog.tsx';
import { NumberInput } from '../ui/number-input.tsx';
import { Hint } from '../ui/text.tsx';
import { useEvaluationMessages } from './messages.ts';
import { toChanges, toConfigured, toSettings } from './run-settings.ts';
import { ChatModelField, RunSettingsFields } from './run-settings-fields.tsx';

const startRun = (kbId: string, request: Schema<'CreateEvaluation'>) =>
  body(api.POST('/v1/knowledge-bases/{kb_id}/evaluations', { params: { path: { kb_id: kbId } }, body: request }));

interface RunDialogProps {
  kbId: string;
  set: Schema<'ListedQuestionSet'>;
  onClose(): void;
}

/** Starts a run of a question set, with the settings of the set unless they are changed. */
export function RunDialog({ kbId, set, onClose }: RunDialogProps) {
  const texts = useEvaluationMessages();
  const [settings, setSettings] = useState(() => toSettings(set));
  const submit = () => startRun(kbId, { question_set_id: set.id, ...toChanges(settings) });
  const dialog = { title: set.name, submitLabel: texts.run, onClose, submit, size: 'xl' };
  return (
    <FormDialog {...dialog} refreshes={['evaluations', 'question-sets']}>
      <RunSettingsFields settings={settings} onChange={setSettings} />
    </FormDialog>
  );
}

/** Starts a run with generated questions. */
export function GenerateDialog({ kbId, onClose }: Omit<RunDialogProps, 'set'>) {
  const texts = useEvaluationMessages();
  const [model, setModel] = useState<string | null>(null);
  const [count, setCount] = useState<number | string>(50);
  const [settings, setSettings] = useState(toSettings);
  const changeModel = (id: string | null) => {
    // The model that writes the questions answers them, too, until another one is chosen.
    if (settings.model === model) setSettings({ ...settings, model: id });
    setModel(id);
  };
  const submit = () => {
    const generate = { count: Number(count), model: model ?? '' };
    return startRun(kbId, { generate, ...toConfigured(settings) });
  };
  const dialog = { title: texts.generate, submitLabel: texts.run, onClose, submit, size: 'xl' };
  return (
    <FormDialog {...dialog} refreshes={['evaluations']} isValid={model !== null && count !== ''}>
      <Hint>{texts.generateHint}</Hint>
      <NumberInput label={texts.count} min={1} max={200} value={count} onChange={setCount} />
      <ChatModelField label={texts.generator} value={model} onChange={changeModel} />
      <RunSettingsFields settings={settings} onChange={setSettings} />
    </FormDialog>
  );
}
