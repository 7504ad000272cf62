/** What went wrong in a module, with the line if the error has one. */
export function reasonOf(error: unknown, path: string): string {
  if (!(error instanceof Error)) return String(error);
  const line = error.stack?.split(path)[1]?.match(/^(?:\?[0-9a-f]+)?:(\d+)/)?.[1];
  const missing = (error as Error & { code?: unknown }).code === 'ERR_MODULE_NOT_FOUND';
  const what = missing ? error.message.replace(/ imported from .*/s, '') : `${error.name}: ${error.message}`;
  return `${what}${line === undefined ? '' : ` (line ${line})`}`;
}
