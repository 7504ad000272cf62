/** Threads run compiled code, also where the rest runs from its source, as in tests. */
export const COMPILED = new URL(
  import.meta.url.endsWith('.ts') ? '../../../dist/live/executor/' : './',
  import.meta.url,
);
