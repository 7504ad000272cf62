/**
 * Control characters, and characters that change the direction of text or end a line invisibly. On a terminal they move
 * the cursor, or color, hide or reorder other text. XML, and so SVG, cannot express most of them, nor unpaired
 * surrogates.
 */
const UNPRINTABLE = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069\ufffe\uffff\p{Surrogate}]/gu;

/**
 * Text made safe to print, in one line: unprintable characters appear as `\u001b`, which has the same meaning in JSON.
 * `keeps` are characters left as they are.
 */
export function printable(text: string, keeps = ''): string {
  return text.replace(UNPRINTABLE, (char) =>
    keeps.includes(char) ? char : `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** A path begins after white space, a quote or one of `(=`. */
export const PATH_BEGINS = '(?<![^\\s\'"`(=])';
/** The folders of an absolute path. */
const FOLDERS = new RegExp(
  `${PATH_BEGINS}(?:[A-Za-z]:)?(?:[/\\\\][^\\s/\\\\'"\`():]+)*[/\\\\](?=[^\\s/\\\\])`,
  'g',
);

/** Text without folders, for readers who must not learn where files lie: absolute paths are reduced to names. */
export function withoutFolders(text: string): string {
  return text.replaceAll(FOLDERS, '');
}
