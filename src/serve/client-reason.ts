import { normalize, resolve, sep } from 'node:path';
import { PATH_BEGINS, withoutFolders } from '../base/printable.js';

/**
 * Reason of a failure, for clients: files of repositories by their path in them, with line and key if known; of other
 * files only the name. The log has whole paths. Without a full stop, since more may follow.
 */
export function clientReason({ message }: Error, repositories: readonly string[]): string {
  const folders = [...new Set(repositories.flatMap((dir) => [resolve(dir), normalize(dir)]))].map((folder) =>
    folder.endsWith(sep) ? folder : folder + sep,
  );
  const prefixes = folders.filter((folder) => folder !== `.${sep}`).map(escaped);
  const begins = new RegExp(`${PATH_BEGINS}(?:${prefixes.join('|')})`, 'g');
  const inside = prefixes.length === 0 ? message : message.replaceAll(begins, '');
  return withoutFolders(inside).replace(/\.$/, '');
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
