import type { ChatPrompt, FunctionTool } from '../../engine.ts';
import type { ToolConstraint } from '../../llama/engine/tool-constraint.ts';
import { narrowed } from './argument-values.ts';
import { readConversation, toolFeatures } from './tool-match.ts';

/**
 * What each of `toolFeatures` weighs: fitted on the training dialogues of Schema-Guided Dialogue and on halves of
 * API-Bank and BFCL.
 */
const TOOL_WEIGHTS: readonly number[] = [
  5.43, 3.17, 2.78, 1.71, 1.7, 1.54, 0.35, 0.58, -2.06, 0.72, 1.49, 0.07, 0.71, -0.11, 2.49, -0.45, -0.07,
];
/**
 * Constrains calls to the one tool that fits the conversation, and its arguments to what a small model gets right. The
 * model still decides whether it calls.
 */
export function constrainToTool({ tools, toolChoice, messages }: ChatPrompt): ToolConstraint {
  const named = typeof toolChoice === 'object' ? tools.findIndex((tool) => tool.function.name === toolChoice.name) : -1;
  const chosen = named >= 0 ? named : bestOf(toolFeatures(tools, readConversation(messages)));
  const schema = narrowed(tools[chosen] as FunctionTool, messages);
  return { tools: [chosen], ...(schema !== null && { parameters: { [chosen]: schema } }) };
}

/** The place of the tool that fits best, the first of equal ones. */
function bestOf(features: readonly (readonly number[])[]): number {
  const scores = features.map((numbers) =>
    numbers.reduce((sum, number, i) => sum + number * (TOOL_WEIGHTS[i] ?? 0), 0),
  );
  return scores.indexOf(Math.max(...scores));
}
