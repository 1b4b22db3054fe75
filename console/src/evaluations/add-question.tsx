import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, body } from '../api/client.ts';
import { CheckboxField, SelectField, TextAreaField, TextField } from '../ui/fields.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { Hint } from '../ui/text.tsx';
import { useEvaluationMessages } from './messages.ts';
import { emptyRow, fromRow, type QuestionRow } from './questions.ts';

interface AddQuestionDialogProps {
  /** Knowledge bases of the answer. */
  kbIds: readonly string[];
  question: string;
  onClose(): void;
}

/** Adds a question to a set of a knowledge base, or to a new set. */
export function AddQuestionDialog({ kbIds, question, onClose }: AddQuestionDialogProps) {
  const texts = useEvaluationMessages();
  const [kbId, setKbId] = useState(kbIds[0] ?? '');
  const [setId, setSetId] = useState<string | null>(null);
  const [name, setName] = useState('');
  const [row, setRow] = useState(() => ({ ...emptyRow(), question }));
  const sets = useQuery({
    queryKey: ['question-sets', kbId, 'all'],
    queryFn: () => {
      const params = { path: { kb_id: kbId }, query: { limit: 100 } };
      return body(api.GET('/v1/knowledge-bases/{kb_id}/question-sets', { params }));
    },
  });
  const submit = () => {
    const questions = [fromRow(row)];
    if (setId === null) {
      const params = { path: { kb_id: kbId } };
      return body(api.POST('/v1/knowledge-bases/{kb_id}/question-sets', { params, body: { name, questions } }));
    }
    const params = { path: { kb_id: kbId, question_set_id: setId } };
    const path = '/v1/knowledge-bases/{kb_id}/question-sets/{question_set_id}';
    return body(api.PATCH(path, { params, body: { add_questions: questions } }));
  };
  const isValid = (setId !== null || name.trim() !== '') && (row.unanswerable || row.facts.trim() !== '');
  return (
    <FormDialog
      title={texts.addToSet}
      onClose={onClose}
      submit={submit}
      refreshes={['question-sets']}
      isValid={isValid}
    >
      {kbIds.length > 1 && (
        <SelectField
          label={texts.base}
          data={[...kbIds]}
          value={kbId}
          allowDeselect={false}
          onChange={(id) => {
            setKbId(id ?? '');
            setSetId(null);
          }}
        />
      )}
      <SelectField
        label={texts.set}
        placeholder={texts.newSet}
        clearable
        data={(sets.data?.data ?? []).map(({ id, name: label }) => ({ value: id, label }))}
        value={setId}
        onChange={setSetId}
      />
      {setId === null && <TextField label={texts.setName} param="name" value={name} onChange={setName} />}
      <QuestionFields row={row} onChange={setRow} />
    </FormDialog>
  );
}

function QuestionFields({ row, onChange }: { row: QuestionRow; onChange(row: QuestionRow): void }) {
  const texts = useEvaluationMessages();
  return (
    <>
      <TextAreaField
        label={texts.question}
        autosize
        value={row.question}
        onChange={(value) => onChange({ ...row, question: value })}
      />
      <CheckboxField
        label={texts.unanswerable}
        checked={row.unanswerable}
        onChange={(unanswerable) => onChange({ ...row, unanswerable })}
      />
      {!row.unanswerable && (
        <>
          <TextAreaField
            label={texts.facts}
            autosize
            minRows={2}
            data-autofocus
            value={row.facts}
            onChange={(facts) => onChange({ ...row, facts })}
          />
          <Hint>{texts.factsHint}</Hint>
        </>
      )}
    </>
  );
}
