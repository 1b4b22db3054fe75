import { createContext, useContext } from 'react';
import type { Passage } from './passage.ts';

/** What `useOpenPassage` returns, for pages with a place of their own for passages. */
export const OpenPassage = createContext<(passage: Passage) => void>(() => {});

/** Opens the passage beside the page. */
export const useOpenPassage = () => useContext(OpenPassage);
