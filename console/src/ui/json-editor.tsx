import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { json, jsonParseLinter } from '@codemirror/lang-json';
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from '@codemirror/language';
import { type Diagnostic, linter, lintGutter } from '@codemirror/lint';
import { EditorState } from '@codemirror/state';
import { EditorView, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { useEffect, useRef } from 'react';

/** A syntax error of the text. `line` counts from 1. */
export interface JsonProblem {
  line: number;
  message: string;
}

interface JsonEditorProps {
  label: string;
  /** Id of the element with help and error. */
  describedBy: string;
  initialValue: string;
  onChange(text: string): void;
  /** Called after each check; null: valid or empty. */
  onProblem(problem: JsonProblem | null): void;
}

const parseLinter = jsonParseLinter();
const LINT_DELAY_MS = 200;

const highlight = HighlightStyle.define([
  { tag: tags.propertyName, class: 'json-property' },
  { tag: tags.string, class: 'json-string' },
  { tag: [tags.number, tags.bool, tags.null], class: 'json-literal' },
]);

/**
 * An editor for JSON. Tab indents; Escape and then Tab leaves the editor, as the text of `describedBy` must say. Load
 * it lazily: CodeMirror is large.
 */
export default function JsonEditor({ label, describedBy, initialValue, onChange, onProblem }: JsonEditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const handlers = useRef({ onChange, onProblem });
  handlers.current = { onChange, onProblem };
  // biome-ignore lint/correctness/useExhaustiveDependencies: the editor keeps its own text after it has been created.
  useEffect(() => {
    if (host.current === null) return;
    const view = new EditorView({
      parent: host.current,
      state: EditorState.create({
        doc: initialValue,
        extensions: [
          lineNumbers(),
          history(),
          indentOnInput(),
          bracketMatching(),
          json(),
          syntaxHighlighting(highlight),
          linter((checked) => report(checked, handlers.current.onProblem), { delay: LINT_DELAY_MS }),
          lintGutter(),
          keymap.of([indentWithTab, ...defaultKeymap, ...historyKeymap]),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({
            'aria-label': label,
            tabindex: '0',
            'aria-describedby': describedBy,
            // Escape leaves the editor, and does not close the dialog around it.
            'data-mantine-stop-propagation': 'true',
          }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) handlers.current.onChange(update.state.doc.toString());
          }),
        ],
      }),
    });
    return () => view.destroy();
  }, [label, describedBy]);
  return <div ref={host} className="json-editor" />;
}

function report(view: EditorView, onProblem: JsonEditorProps['onProblem']): readonly Diagnostic[] {
  const diagnostics = view.state.doc.toString().trim() === '' ? [] : parseLinter(view);
  const [first] = diagnostics;
  onProblem(first === undefined ? null : { line: view.state.doc.lineAt(first.from).number, message: first.message });
  return diagnostics;
}
