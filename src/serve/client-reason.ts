import { normalize, resolve, sep } from 'node:path';
import { PATH_BEGINS, withoutFolders } from '../base/printable.js';

/**
 * Reason of a failure, for clients: files of the repository by their path in it, with line and key if known; of other
 * files only the name. The log has whole paths. Without a full stop, since more may follow.
 */
export function clientReason({ message }: Error, repository: string): string {
  const folders = [...new Set([resolve(repository), normalize(repository)])].map((folder) =>
    folder.endsWith(sep) ? folder : folder + sep,
  );
  const prefixes = folders.filter((folder) => folder !== `.${sep}`).map(escaped);
  const inside = message.replaceAll(new RegExp(`${PATH_BEGINS}(?:${prefixes.join('|')})`, 'g'), '');
  return withoutFolders(inside).replace(/\.$/, '');
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
