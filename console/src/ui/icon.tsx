import type { LucideIcon } from 'lucide-react';

/** An icon in the size and stroke of the console. It has no name of its own: a word or a label stands beside it. */
export const Icon = ({ icon: Drawing, className }: { icon: LucideIcon; className?: string }) => (
  <Drawing size={16} strokeWidth={1.75} aria-hidden className={className} style={{ flex: 'none' }} />
);
