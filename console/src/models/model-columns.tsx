import type { Schema } from '../api/types.ts';
import { type Column, numberColumn } from '../ui/data-table.tsx';
import { useFormat } from '../ui/format.ts';
import { useCommonMessages } from '../ui/messages.ts';
import { ItemName } from '../ui/text.tsx';
import { useModelMessages } from './messages.ts';

type Model = Schema<'Model'>;

/** Columns of a model id for all users: capabilities, context length and price. */
export function useModelColumns<T extends Model>(): { name: Column<T>; figures: readonly Column<T>[] } {
  const models = useModelMessages();
  const common = useCommonMessages();
  const format = useFormat();
  return {
    name: { heading: common.name, cell: (model) => <ModelName model={model} /> },
    figures: [
      numberColumn(models.context, ({ context_length }) => format.number(context_length)),
      numberColumn(models.price, ({ pricing, backend }) =>
        backend.engine === 'bundled' ? '–' : <Price pricing={pricing} />,
      ),
    ],
  };
}

/** Returns a function that formats the backend of a model id. */
export function useBackendName(): (model: Pick<Model, 'backend'>) => string {
  const models = useModelMessages();
  return ({ backend }) => (backend.engine === 'bundled' ? models.bundled : `${backend.model} (${backend.engine})`);
}

function ModelName({ model: { id, capabilities } }: { model: Model }) {
  const models = useModelMessages();
  const names = Object.entries(capabilities).flatMap(([name, has]) =>
    has ? [models.capabilities[name as keyof Model['capabilities']]] : [],
  );
  return <ItemName name={id} note={names.join(', ')} />;
}

/** Price in credits per million prompt and completion tokens. */
function Price({ pricing: { prompt, completion, unit } }: { pricing: Model['pricing'] }) {
  const format = useFormat();
  const factor = unit === 'per_1k_tokens' ? 1000 : 1;
  return `${format.money(prompt * factor * 1e6)} / ${format.money(completion * factor * 1e6)}`;
}
