/**
 * The compiled form of `file`, which lies beside the module with the address `moduleUrl`: threads and processes run it
 * also where the rest runs from its source, as in tests.
 */
export function compiledBeside(moduleUrl: string, file: string): URL {
  const beside = new URL(file, moduleUrl);
  if (!moduleUrl.endsWith('.ts')) return beside;
  const at = beside.pathname.lastIndexOf(SOURCES);
  beside.pathname = `${beside.pathname.slice(0, at)}/dist/${beside.pathname.slice(at + SOURCES.length)}`;
  return beside;
}

const SOURCES = '/src/';
