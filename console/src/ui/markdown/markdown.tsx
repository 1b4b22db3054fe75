import { Anchor, Button, CopyButton } from '@mantine/core';
import { createElement, Fragment, memo, type ReactNode, useRef } from 'react';
import { useCommonMessages } from '../messages.ts';
import { parseInline } from './parse-inline.ts';
import { parseBlocks, splitBlocks } from './parse-markdown.ts';
import type { Block, Inline, SourceLine } from './syntax-tree.ts';

/** A part of the source that is highlighted. `key` names it for `renderMark`. */
export interface Mark {
  start: number;
  end: number;
  key: number;
}

interface MarkdownProps {
  text: string;
  marks?: readonly Mark[];
  /** Follows the end of each mark, such as a link to the source. */
  renderMark?: (key: number) => ReactNode;
}

const NO_MARKS: readonly Mark[] = [];

/**
 * Shows Markdown as elements: no HTML is parsed or inserted. A growing text renders only its last block again: all
 * earlier ones are final (`splitBlocks`) and memoized.
 */
export function Markdown({ text, marks = NO_MARKS, renderMark }: MarkdownProps) {
  const previous = useRef({ text: '', starts: [0] as number[] });
  const isGrown = text.startsWith(previous.current.text);
  const starts = splitBlocks(text, isGrown ? previous.current.starts : [0]);
  previous.current = { text, starts };
  return (
    <div className="markdown">
      {starts.map((start, index) => {
        const end = starts[index + 1] ?? text.length;
        const own = marks.length === 0 ? NO_MARKS : marks.filter((mark) => mark.start < end && mark.end > start);
        return (
          <SourceBlock
            key={start}
            at={start}
            text={text.slice(start, end)}
            marks={own.length === 0 ? NO_MARKS : own}
            // `renderMark` changes with every render; blocks without marks do not receive it and stay memoized.
            renderMark={own.length === 0 ? undefined : renderMark}
          />
        );
      })}
    </div>
  );
}

/** What the inline content of a block needs besides its lines. */
interface Marking {
  marks: readonly Mark[];
  renderMark?: ((key: number) => ReactNode) | undefined;
}

const SourceBlock = memo(function SourceBlock({ text, at, ...marking }: { text: string; at: number } & Marking) {
  return parseBlocks(text, at).map((block, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: blocks have no identity but their place.
    <BlockView key={index} block={block} marking={marking} />
  ));
});

function Blocks({ blocks, marking }: { blocks: readonly Block[]; marking: Marking }) {
  return blocks.map((block, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: blocks have no identity but their place.
    <BlockView key={index} block={block} marking={marking} />
  ));
}

function BlockView({ block, marking }: { block: Block; marking: Marking }): ReactNode {
  switch (block.type) {
    case 'paragraph':
      return <p>{renderLines(block.lines, marking)}</p>;
    case 'heading':
      // The page has the levels 1 and 2.
      return createElement(`h${Math.min(6, block.level + 2)}`, null, renderLines(block.lines, marking));
    case 'code':
      return <CodeBlock language={block.language} text={block.text} />;
    case 'quote':
      return (
        <blockquote>
          <Blocks blocks={block.blocks} marking={marking} />
        </blockquote>
      );
    case 'list':
      return createElement(
        block.start === null ? 'ul' : 'ol',
        block.start === null ? null : { start: block.start },
        block.items.map((item, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: items have no identity but their place.
          <li key={index}>
            <Blocks blocks={item} marking={marking} />
          </li>
        )),
      );
    case 'table':
      return <TableBlock head={block.head} rows={block.rows} marking={marking} />;
    case 'rule':
      return <hr />;
  }
}

function TableBlock({ head, rows, marking }: { head: SourceLine[]; rows: SourceLine[][]; marking: Marking }) {
  const common = useCommonMessages();
  return (
    // Wide tables scroll by themselves; the keyboard reaches them.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be focusable.
    <section className="table-scroll" tabIndex={0} aria-label={common.table}>
      <table>
        <thead>
          <tr>
            {head.map((cell) => (
              <th key={cell.at} scope="col">
                {renderLines([cell], marking)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row[0]?.at}>
              {row.map((cell) => (
                <td key={cell.at}>{renderLines([cell], marking)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function CodeBlock({ language, text }: { language: string; text: string }) {
  const common = useCommonMessages();
  return (
    <div className="code-block">
      <div className="code-head">
        <span>{language}</span>
        <CopyButton value={text}>
          {({ copied, copy }) => (
            <Button size="compact-xs" variant="default" onClick={copy}>
              {copied ? common.copied : common.copy}
            </Button>
          )}
        </CopyButton>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be focusable. */}
      <section className="code-scroll" tabIndex={0} aria-label={language === '' ? common.code : language}>
        <pre>
          <code>{text}</code>
        </pre>
      </section>
    </div>
  );
}

function renderLines(lines: readonly SourceLine[], marking: Marking): ReactNode {
  return renderInline(parseInline(lines), marking);
}

function renderInline(nodes: readonly Inline[], marking: Marking): ReactNode {
  return nodes.map((node, index) => {
    // biome-ignore lint/suspicious/noArrayIndexKey: inline content has no identity but its place.
    return <Fragment key={index}>{renderNode(node, marking)}</Fragment>;
  });
}

function renderNode(node: Inline, marking: Marking): ReactNode {
  switch (node.type) {
    case 'text':
      return renderMarked(node, marking);
    case 'code':
      return <code>{renderMarked(node, marking)}</code>;
    case 'strong':
      return <strong>{renderInline(node.children, marking)}</strong>;
    case 'emphasis':
      return <em>{renderInline(node.children, marking)}</em>;
    case 'strike':
      return <del>{renderInline(node.children, marking)}</del>;
    case 'link':
      return (
        <Anchor href={node.href} target="_blank" rel="noopener noreferrer nofollow" underline="always">
          {renderInline(node.children, marking)}
        </Anchor>
      );
    case 'break':
      return <br />;
  }
}

/** The text with its marked parts. A mark that continues in the next node is followed by nothing here. */
function renderMarked({ text, at }: { text: string; at: number }, { marks, renderMark }: Marking): ReactNode {
  const parts: ReactNode[] = [];
  let done = 0;
  for (const { start, end, key } of marks) {
    const from = Math.max(done, start - at);
    const to = Math.min(text.length, end - at);
    if (to <= from) continue;
    parts.push(
      text.slice(done, from),
      <mark key={key} className="citation">
        {text.slice(from, to)}
      </mark>,
      end - at <= text.length && <Fragment key={`after ${key}`}>{renderMark?.(key)}</Fragment>,
    );
    done = to;
  }
  return parts.length === 0 ? text : [...parts, text.slice(done)];
}
