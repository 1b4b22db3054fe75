import { type Static, Type } from 'typebox';
import { deletedSchema, ListQuery } from '../db/page.ts';
import { StorableText, UnixSeconds } from '../http/schema-types.ts';
import { MUST } from '../http/validation.ts';
import { titleSchemas } from '../lib/title-schemas.ts';

const Name = StorableText({ minLength: 1, maxLength: 200 });
const Text = StorableText({
  minLength: 1,
  maxLength: 100_000,
  description:
    'Text with variables such as `{{topic}}`. A backslash escapes the braces. Braces that do not enclose a variable name are literal text.',
});
const Shared = Type.Boolean({
  description:
    'Whether all members of the organization can use the prompt. Otherwise it is visible only to its author.',
});

/** Body of `POST /v1/prompts`. */
export const CreatePrompt = Type.Object(
  { name: Name, text: Text, shared: Type.Optional(Shared) },
  { examples: [{ name: 'Summary', text: 'Summarize the following for {{audience}}:\n\n{{text}}' }] },
);

export type CreatePrompt = Static<typeof CreatePrompt>;

/** Body of `PATCH /v1/prompts/{prompt_id}`: the fields to change. */
export const UpdatePrompt = Type.Object(
  { name: Type.Optional(Name), shared: Type.Optional(Shared) },
  { description: 'Absent fields keep their values. A new text creates a new version.', examples: [{ shared: true }] },
);

export type UpdatePrompt = Static<typeof UpdatePrompt>;

/** Body of `POST /v1/prompts/{prompt_id}/versions`. */
export const CreatePromptVersion = Type.Object({ text: Text }, { examples: [{ text: 'Summarize: {{text}}' }] });

export type CreatePromptVersion = Static<typeof CreatePromptVersion>;

const Variables = Type.Array(Type.String(), {
  description: 'Names of the variables in the text, in order of first use.',
});

/** A prompt with one of its versions. */
export const PromptResource = Type.Object({
  id: Type.String({ description: '`pmpt_...`' }),
  object: Type.Literal('prompt'),
  name: Type.String(),
  shared: Shared,
  created_by: Type.String({ description: 'Id of the user or key.' }),
  editable: Type.Boolean({
    description: 'Whether the caller may change the prompt: the author may, and owners if the prompt is shared.',
  }),
  version: Type.Integer({ description: 'Version of `text`.' }),
  latest_version: Type.Integer(),
  text: Type.String(),
  variables: Variables,
  created_at: UnixSeconds,
  updated_at: Type.Integer({ description: 'Unix seconds of the last change.' }),
});

export type PromptResource = Static<typeof PromptResource>;

/** A version of a prompt. Versions are immutable. */
export const PromptVersionResource = Type.Object({
  id: Type.String({ description: '`pmptv_...`' }),
  object: Type.Literal('prompt.version'),
  prompt_id: Type.String(),
  version: Type.Integer({ description: 'Counts from 1.' }),
  text: Type.String(),
  variables: Variables,
  created_by: Type.String({ description: 'Id of the user or key.' }),
  created_at: UnixSeconds,
});

export type PromptVersionResource = Static<typeof PromptVersionResource>;

const VersionNumber = Type.Integer({ minimum: 1, maximum: 1_000_000 });
const Values = Type.Record(Type.String(), Type.String(), {
  description:
    'Values by variable name. Every variable of the prompt requires a value. Unknown names are rejected. Braces in values are literal text.',
});

/** Body of `POST /v1/prompts/{prompt_id}/render`. */
export const RenderPrompt = Type.Object(
  { version: Type.Optional(VersionNumber), variables: Type.Optional(Values) },
  { examples: [{ variables: { audience: 'children', text: 'The library opens at nine.' } }] },
);

export type RenderPrompt = Static<typeof RenderPrompt>;

/** The text of a prompt with its variables replaced. */
export const PromptRendering = Type.Object({
  id: Type.String(),
  object: Type.Literal('prompt.rendering'),
  version: Type.Integer(),
  text: Type.String(),
});

export type PromptRendering = Static<typeof PromptRendering>;

/** Field `prompt` of a request, in OpenAI's form. */
export const PromptReference = Type.Object(
  {
    id: Type.String(),
    version: Type.Optional(
      Type.Union(
        [
          Type.String({ pattern: '^[1-9][0-9]{0,5}$', [MUST]: 'be the number of a version' }),
          VersionNumber,
          Type.Null(),
        ],
        { description: 'Number of the version. Default: the newest version.' },
      ),
    ),
    variables: Type.Optional(Type.Union([Values, Type.Null()])),
  },
  { description: 'A prompt of the library. The rendered text replaces `instructions`.' },
);

export type PromptReference = Static<typeof PromptReference>;

/** Query of `GET /v1/prompts`. */
export const PromptListQuery = Type.Object({
  ...ListQuery.properties,
  search: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 256,
      description: 'Returns only prompts whose name or newest version contains this text (case-insensitive).',
    }),
  ),
});

export type PromptListQuery = Static<typeof PromptListQuery>;

/** Query of `GET /v1/prompts/{prompt_id}`. */
export const PromptQuery = Type.Object({ version: Type.Optional(VersionNumber) });

/** Path of one prompt. */
export const PromptParams = Type.Object({ prompt_id: Type.String() });

/** Answer of `DELETE /v1/prompts/{prompt_id}`. */
export const DeletedPrompt = deletedSchema('prompt');

titleSchemas({
  CreatePrompt,
  UpdatePrompt,
  CreatePromptVersion,
  PromptResource,
  PromptVersionResource,
  RenderPrompt,
  PromptRendering,
  DeletedPrompt,
});
