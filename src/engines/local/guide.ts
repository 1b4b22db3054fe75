import type { FunctionTool, GenerationRequest } from '../engine.ts';

/** What stands before a passage in a prompt of the bundled model, and before the one that answers. */
export const DOCUMENT_MARKERS = { passage: '<|doc|>', marked: '<|mark|>' } as const;

/** A passage of a prompt. `marked`: the model is to answer with it. */
export interface ShownPassage {
  text: string;
  marked: boolean;
}

/** What whoever knows the model well may ask of this engine beyond the port, so that the model does better. */
export interface Guide {
  /** Passages that the model is shown in the form that it was trained on, at the end of the first system turn. */
  passages?: readonly ShownPassage[];
  /** The answer is one of these texts, letter for letter. Only without tools and with the format of text. */
  answers?: readonly string[];
  /** Indices of the tools that the model is shown and may call. Absent: all. */
  tools?: readonly number[];
  /** By the index of a tool: narrower schemas of its arguments, to which they are held instead of the tool's own. */
  parameters?: Readonly<Record<number, Record<string, unknown>>>;
}

/** A request with what is to help the model. */
export interface GuidedRequest extends GenerationRequest {
  guide?: Guide | undefined;
}

/** The tools of a request as a guide leaves them. */
export interface GuidedTools {
  /** What the model is shown, as the caller gave it. */
  shown: readonly FunctionTool[];
  /** The same with the schemas that arguments are held to. */
  held: readonly FunctionTool[];
  /** All, where the held ones have the place that they have in the caller's list. */
  offered: readonly FunctionTool[];
}

/** Applies what a guide says of tools. */
export function guidedTools(tools: readonly FunctionTool[], guide: Guide | undefined): GuidedTools {
  const { tools: chosen, parameters } = guide ?? {};
  const offered = tools.map((tool, index) => {
    const narrower = parameters?.[index];
    return narrower === undefined ? tool : { ...tool, function: { ...tool.function, parameters: narrower } };
  });
  const chosenOf = (list: readonly FunctionTool[]) => chosen?.flatMap((index) => list[index] ?? []) ?? list;
  return { shown: chosenOf(tools), held: chosenOf(offered), offered };
}

/** The markers of passages that the model has tokens for; none where it was not trained on them. */
export function documentMarkers(vocabulary: { definedToken(text: string): number | null }): string[] {
  return Object.values(DOCUMENT_MARKERS).filter((text) => vocabulary.definedToken(text) !== null);
}
