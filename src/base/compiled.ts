/**
 * Compiled form of `file`, next to the module at `moduleUrl`. Threads and processes run it even if the rest runs from
 * source, as in tests, which compile first.
 */
export function compiledNextTo(moduleUrl: string, file: string): URL {
  const url = new URL(file, moduleUrl);
  if (!moduleUrl.endsWith('.ts')) return url;
  const at = url.pathname.lastIndexOf(SOURCES);
  url.pathname = `${url.pathname.slice(0, at)}/dist/${url.pathname.slice(at + SOURCES.length)}`;
  return url;
}

const SOURCES = '/src/';
