import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, body } from '../api/client.ts';
import type { Schema } from '../api/types.ts';
import { SelectField } from '../ui/fields.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { fill } from '../ui/language.tsx';
import type { CatalogueModel } from './catalogue.ts';
import { useModelMessages } from './messages.ts';
import { useBoundModels } from './use-catalogue.ts';

const BUNDLED = 'bundled';
/** Queries to refresh after a binding changes. */
const REFRESHES = ['admin-models', 'engines', 'models'];

const bind = (id: string, model: string) =>
  api.PUT('/v1/admin/models/{model_id}/binding', { params: { path: { model_id: id } }, body: { model } });

/** Dialog that binds a model id to a model file or to the bundled model. */
export function BindIdDialog({ model, onClose }: { model: Schema<'BoundModel'>; onClose(): void }) {
  const models = useModelMessages();
  const [chosen, setChosen] = useState(model.stored_model ?? BUNDLED);
  const files = useQuery({ queryKey: ['model-files'], queryFn: () => body(api.GET('/v1/admin/model-files')) });
  const names = (files.data?.data ?? []).map(({ name }) => ({ value: name, label: name }));
  return (
    <FormDialog
      title={fill(models.bindTitle, { id: model.id })}
      onClose={onClose}
      submit={() => bind(model.id, chosen)}
      refreshes={REFRESHES}
    >
      <SelectField
        param="model"
        label={models.file}
        description={models.bindHint}
        allowDeselect={false}
        data={[{ value: BUNDLED, label: models.bundled }, ...names]}
        value={chosen}
        onChange={(value) => value !== null && setChosen(value)}
      />
    </FormDialog>
  );
}

/** Dialog that binds a model file to a model id. The best matching id is preselected. */
export function BindFileDialog({ model, onClose }: { model: CatalogueModel; onClose(): void }) {
  const models = useModelMessages();
  const listed = useBoundModels().data?.data.map(({ id }) => id) ?? [];
  const [chosen, setChosen] = useState<string | null>(model.suits.find((id) => listed.includes(id)) ?? null);
  return (
    <FormDialog
      title={fill(models.bindTitle, { id: model.name })}
      onClose={onClose}
      submit={() => bind(chosen ?? '', model.name)}
      refreshes={REFRESHES}
    >
      <SelectField
        param="model_id"
        label={models.toId}
        description={models.bindHint}
        required
        allowDeselect={false}
        data={[...new Set([...model.suits.filter((id) => listed.includes(id)), ...listed])]}
        value={chosen}
        onChange={setChosen}
      />
    </FormDialog>
  );
}
