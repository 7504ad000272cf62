import { normalize, resolve, sep } from 'node:path';

/**
 * Why something failed, for clients: files of the repository by their path in it, with line and key where the error has
 * them; of other files only the name. Whole paths are for the log. Without a full stop: more may follow.
 */
export function clientReason({ message }: Error, repository: string): string {
  const folders = [...new Set([resolve(repository), normalize(repository)])].map((folder) =>
    folder.endsWith(sep) ? folder : folder + sep,
  );
  const prefixes = folders.filter((folder) => folder !== `.${sep}`).map(escaped);
  const inside = message.replaceAll(new RegExp(`${BEGINNING}(?:${prefixes.join('|')})`, 'g'), '');
  return inside.replaceAll(ABSOLUTE, '').replace(/\.$/, '');
}

/** A path begins where no other text goes on. */
const BEGINNING = '(?<![^\\s\'"`(=])';
/** The folders of an absolute path. */
const ABSOLUTE = new RegExp(
  `${BEGINNING}(?:[A-Za-z]:)?(?:[/\\\\][^\\s/\\\\'"\`():]+)*[/\\\\](?=[^\\s/\\\\])`,
  'g',
);

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
