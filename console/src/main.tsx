import '@mantine/core/styles.css';
import './console.css';
import { MantineProvider, mergeThemeOverrides } from '@mantine/core';
import { QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { type ReactNode, StrictMode, useMemo } from 'react';
import { createRoot } from 'react-dom/client';
import { ApiFailure } from './api/client.ts';
import { sessionQuery } from './api/session.ts';
import { LanguageProvider, loadPreferredLanguage, useMessages } from './messages/index.tsx';
import { createConsoleRouter } from './router.tsx';
import { theme } from './theme.ts';

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
const reactRoot = createRoot(root);
void loadPreferredLanguage().then((language) =>
  reactRoot.render(
    <StrictMode>
      <LanguageProvider initial={language}>
        <ThemeProvider>
          <QueryClientProvider client={queryClient}>
            <RouterProvider router={router} />
          </QueryClientProvider>
        </ThemeProvider>
      </LanguageProvider>
    </StrictMode>,
  ),
);

/** Provides the theme, with the names of buttons that Mantine leaves to the application. */
function ThemeProvider({ children }: { children: ReactNode }) {
  const { common } = useMessages();
  const named = useMemo(() => {
    const defaultProps = { closeButtonProps: { 'aria-label': common.close } };
    return mergeThemeOverrides(theme, { components: { Modal: { defaultProps }, Drawer: { defaultProps } } });
  }, [common]);
  return (
    <MantineProvider theme={named} defaultColorScheme="auto">
      {children}
    </MantineProvider>
  );
}
