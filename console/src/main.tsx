import '@fontsource-variable/inter/wght.css';
import './ui/inter.css';
import '@mantine/core/styles.layer.css';
import './ui/console.css';
import { MantineProvider, mergeThemeOverrides } from '@mantine/core';
import { QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { type KeyboardEvent, type ReactNode, StrictMode, useMemo } from 'react';
import { createRoot } from 'react-dom/client';
import { ApiFailure } from './api/client.ts';
import { sessionQuery } from './api/session.ts';
import { createConsoleRouter } from './router.tsx';
import { LanguageProvider } from './ui/language.tsx';
import { useCommonMessages } from './ui/messages.ts';
import { resolveVariables, theme } from './ui/theme.ts';

const queryClient: QueryClient = new QueryClient({
  queryCache: new QueryCache({
    onError: (error, query) => {
      const isSessionQuery = query.queryKey[0] === sessionQuery.queryKey[0];
      // The session has ended in the middle of the work: the session query leads to the sign-in.
      if (error instanceof ApiFailure && error.status === 401 && !isSessionQuery) {
        void queryClient.invalidateQueries(sessionQuery).then(() => router.invalidate());
      }
    },
  }),
  defaultOptions: {
    // The service may be on this machine, so a request can succeed while the browser believes that it is offline.
    mutations: { networkMode: 'always' },
    queries: {
      networkMode: 'always',
      staleTime: 5_000,
      // Errors of the request do not go away by themselves.
      retry: (failures, error) =>
        failures < 2 && (!(error instanceof ApiFailure) || error.status === 0 || error.status >= 500),
    },
  },
});
const router = createConsoleRouter(queryClient);

const root = document.getElementById('root');
if (root === null) throw new Error('index.html has no #root');
createRoot(root).render(
  <StrictMode>
    <LanguageProvider>
      <ThemeProvider>
        <QueryClientProvider client={queryClient}>
          <RouterProvider router={router} />
        </QueryClientProvider>
      </ThemeProvider>
    </LanguageProvider>
  </StrictMode>,
);

/** Provides the theme, with the names of buttons that Mantine leaves to the application. */
function ThemeProvider({ children }: { children: ReactNode }) {
  const common = useCommonMessages();
  const named = useMemo(() => {
    const defaultProps = { closeButtonProps: { 'aria-label': common.close } };
    // Keys of a dialog are no shortcuts of the page below it.
    const modalProps = { ...defaultProps, onKeyDown: (event: KeyboardEvent) => event.stopPropagation() };
    return mergeThemeOverrides(theme, {
      components: { Modal: { defaultProps: modalProps }, Drawer: { defaultProps } },
    });
  }, [common]);
  return (
    <MantineProvider theme={named} cssVariablesResolver={resolveVariables} defaultColorScheme="auto">
      {children}
    </MantineProvider>
  );
}
