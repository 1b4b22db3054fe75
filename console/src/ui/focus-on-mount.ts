/** Ref of an element that gets the focus when it is mounted: Preact has no `autoFocus`. */
export const focusOnMount = (element: HTMLElement | null): void => element?.focus();
