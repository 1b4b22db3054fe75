import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, body } from '../api/client.ts';
import { useKnowledgeBaseOptions } from '../api/use-knowledge-base-options.ts';
import { AutocompleteField, CheckboxField, SelectField, TextAreaField, TextField } from '../ui/fields.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { Hint } from '../ui/text.tsx';
import { useEvaluationMessages } from './messages.ts';
import { emptyRow, expectAnswer, fromRow, type QuestionRow } from './questions.ts';

interface AddQuestionDialogProps {
  /** Knowledge bases that the user can choose from. Empty for all knowledge bases. */
  kbIds: readonly string[];
  question: string;
  /** Initial text of the expected facts. */
  answer?: string;
  /** Names of the cited documents. */
  documents?: readonly string[];
  onClose(): void;
}

/** Dialog that adds a question with its expected facts to a new or existing question set. */
export function AddQuestionDialog({ kbIds, question, answer = '', documents = [], onClose }: AddQuestionDialogProps) {
  const texts = useEvaluationMessages();
  const [kbId, setKbId] = useState(kbIds[0] ?? '');
  const [setId, setSetId] = useState<string | null>(null);
  const [name, setName] = useState('');
  const [row, setRow] = useState(() => {
    const document = documents[0] ?? '';
    return { ...emptyRow(), question, facts: expectAnswer(answer), document };
  });
  const sets = useQuery({
    enabled: kbId !== '',
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
  const isNamed = kbId !== '' && (setId !== null || name.trim() !== '');
  const isExpected = row.unanswerable || row.facts.trim() !== '';
  return (
    <FormDialog
      title={texts.addToSet}
      onClose={onClose}
      submit={submit}
      refreshes={['question-sets']}
      isValid={isNamed && row.question.trim() !== '' && isExpected}
    >
      <BaseField
        kbIds={kbIds}
        value={kbId}
        onChange={(id) => {
          setKbId(id);
          setSetId(null);
        }}
      />
      <SelectField
        label={texts.set}
        placeholder={texts.newSet}
        clearable
        data={(sets.data?.data ?? []).map(({ id, name: label }) => ({ value: id, label }))}
        value={setId}
        onChange={setSetId}
      />
      {setId === null && <TextField label={texts.setName} param="name" value={name} onChange={setName} />}
      <QuestionFields row={row} documents={documents} onChange={setRow} />
    </FormDialog>
  );
}

interface BaseFieldProps {
  /** Empty for all knowledge bases. */
  kbIds: readonly string[];
  value: string;
  onChange(kbId: string): void;
}

/** Knowledge base selection. Renders nothing if there is only one option. */
function BaseField({ kbIds, value, onChange }: BaseFieldProps) {
  const texts = useEvaluationMessages();
  const { options, setSearch } = useKnowledgeBaseOptions(kbIds);
  if (kbIds.length === 1) return null;
  const isAny = kbIds.length === 0;
  return (
    <SelectField
      label={texts.base}
      data={isAny ? options : options.filter((option) => kbIds.includes(option.value))}
      value={value}
      allowDeselect={false}
      searchable={isAny}
      onSearchChange={setSearch}
      onChange={(id) => onChange(id ?? '')}
    />
  );
}

interface QuestionFieldsProps {
  row: QuestionRow;
  documents: readonly string[];
  onChange(row: QuestionRow): void;
}

function QuestionFields({ row, documents, onChange }: QuestionFieldsProps) {
  const texts = useEvaluationMessages();
  return (
    <>
      <TextAreaField
        label={texts.question}
        autosize
        maxRows={6}
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
            maxRows={10}
            data-autofocus
            value={row.facts}
            onChange={(facts) => onChange({ ...row, facts })}
          />
          <Hint>{texts.expectHint}</Hint>
          <Hint>{texts.factsHint}</Hint>
          {documents.length > 0 && (
            <AutocompleteField
              label={texts.document}
              data={[...documents]}
              value={row.document}
              onChange={(document) => onChange({ ...row, document })}
            />
          )}
        </>
      )}
    </>
  );
}
