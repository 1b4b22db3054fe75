/** React for the console and its libraries: Preact, which has a quarter of the size, and what its `compat` lacks. */
import { options } from 'preact';
import { createElement } from 'preact/compat';

export * from 'preact/compat';
export { default } from 'preact/compat';

/**
 * Runs effects before the next event, as React does after input. Preact runs them after the next frame, so that the
 * click that takes the focus from a field would submit the values from before its blur.
 */
options.requestAnimationFrame = queueMicrotask;

/** Keeps its children mounted and hides them. Effects of hidden children stay active, in contrast to React. */
export function Activity({ mode, children }) {
  return createElement('div', { style: { display: mode === 'hidden' ? 'none' : 'contents' } }, children);
}
