import { EscapementError } from '../base/errors.js';

/** `[HOST:]PORT` of `--listen`; `byDefault` is the host where it names none. Throws `E_USAGE`. */
export function listenAddress(
  text: string,
  byDefault: string,
): { readonly host: string; readonly port: number } {
  const parts = /^(?:(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+):)?(\d{1,5})$/.exec(text);
  const port = Number(parts?.[2]);
  if (parts === null || port > 65535)
    throw new EscapementError('E_USAGE', `--listen ${text}: write PORT or HOST:PORT`);
  return { host: parts[1]?.replace(/^\[(.*)\]$/, '$1') ?? byDefault, port };
}
