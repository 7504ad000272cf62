const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
  // Unescaped, a parser turns them into spaces in an attribute.
  '\n': '&#10;',
  '\r': '&#13;',
  '\t': '&#9;',
};

/** Text for an element or attribute, without characters that XML 1.0 cannot express. */
export function xml(text: string): string {
  return (
    text
      // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what must go.
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Surrogate}/gu, '\ufffd')
      .replace(/[&<>"'\n\r\t]/g, (char) => ESCAPES[char]!)
  );
}
