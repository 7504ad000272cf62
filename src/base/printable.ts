/**
 * Controls, and what changes the direction of text or ends a line unseen: on a terminal they move the cursor, color,
 * hide or reorder what others wrote. XML, and so SVG, has no way to write most of them, nor half a character.
 */
const UNPRINTABLE = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069\ufffe\uffff\p{Surrogate}]/gu;

/**
 * Text that can only be read, in one line: what is not printable appears as `\u001b`, which in JSON means the same.
 * `keeps` are characters that stay.
 */
export function printable(text: string, keeps = ''): string {
  return text.replace(UNPRINTABLE, (char) =>
    keeps.includes(char) ? char : `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** A path begins where no other text goes on. */
export const PATH_BEGINS = '(?<![^\\s\'"`(=])';
/** The folders of an absolute path. */
const FOLDERS = new RegExp(
  `${PATH_BEGINS}(?:[A-Za-z]:)?(?:[/\\\\][^\\s/\\\\'"\`():]+)*[/\\\\](?=[^\\s/\\\\])`,
  'g',
);

/** Text for who is not to learn where files lie: only the names are left of absolute paths. */
export function withoutFolders(text: string): string {
  return text.replaceAll(FOLDERS, '');
}
