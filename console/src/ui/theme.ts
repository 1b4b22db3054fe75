import { createTheme } from '@mantine/core';

/** System fonts: the console requests nothing from other hosts. */
const FONTS = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif';

/** Look of the console. Filled buttons use shade 7, whose contrast with white is above 4.5 (WCAG AA). */
export const theme = createTheme({
  primaryColor: 'blue',
  primaryShade: { light: 8, dark: 8 },
  fontFamily: FONTS,
  headings: { fontFamily: FONTS, fontWeight: '650' },
  fontFamilyMonospace: 'ui-monospace, "SF Mono", "Cascadia Mono", "Liberation Mono", monospace',
  defaultRadius: 'md',
  respectReducedMotion: true,
  autoContrast: true,
});
