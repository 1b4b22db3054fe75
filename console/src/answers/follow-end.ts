import { type RefObject, useEffect, useLayoutEffect, useRef, useState } from 'react';

/** Distance from the end, in pixels, within which the view follows the answer. */
const END_TOLERANCE = 24;

/**
 * Keeps the end in view while it grows. Scrolling up ends that, scrolling to the end starts it again. `content` changes
 * when the content does; what grows by itself is observed where `column` is its element.
 */
export function useFollowEnd(view: RefObject<HTMLDivElement | null>, content: unknown) {
  const [isFollowing, setIsFollowing] = useState(true);
  const column = useRef<HTMLDivElement>(null);
  const last = useRef({ scrollTop: 0, scrollHeight: 0 });
  // biome-ignore lint/correctness/useExhaustiveDependencies: every change of the content can grow it.
  useLayoutEffect(() => {
    const element = view.current;
    if (element !== null && isFollowing) element.scrollTop = element.scrollHeight;
  }, [content, isFollowing, view]);
  useEffect(() => {
    const element = view.current;
    if (column.current === null || element === null || !isFollowing) return;
    const observer = new ResizeObserver(() => {
      element.scrollTop = element.scrollHeight;
    });
    observer.observe(column.current);
    return () => observer.disconnect();
  }, [isFollowing, view]);
  const onScroll = () => {
    if (view.current === null) return;
    const { scrollTop, scrollHeight, clientHeight } = view.current;
    // Content that shrinks moves the position too.
    const isUp = scrollTop < last.current.scrollTop && scrollHeight >= last.current.scrollHeight;
    last.current = { scrollTop, scrollHeight };
    if (isUp) setIsFollowing(false);
    else if (scrollHeight - clientHeight - scrollTop <= END_TOLERANCE) setIsFollowing(true);
  };
  return { isFollowing, onScroll, column, follow: () => setIsFollowing(true) };
}
