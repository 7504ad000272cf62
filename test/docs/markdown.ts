/** A fenced block of a Markdown text. */
export interface Fence {
  readonly language: string;
  /** Its second word, where there is one: the file that a reader saves it as. */
  readonly file?: string;
  readonly code: string;
  /** 1-based lines of the opening and of the closing fence. */
  readonly line: number;
  readonly endLine: number;
}

export function fencesOf(markdown: string): Fence[] {
  return [...markdown.matchAll(/^```(\w*)(?: (\S+))?\n(.*?)^```$/gms)].map(
    ({ 0: block, 1: language, 2: file, 3: code, index }) => {
      const line = markdown.slice(0, index).split('\n').length;
      const endLine = line + block.split('\n').length - 1;
      return { language: language as string, ...(file && { file }), code: code as string, line, endLine };
    },
  );
}

/** Targets of links and pictures, fenced blocks left out. */
export function linksOf(markdown: string): string[] {
  const text = markdown.replaceAll(/^```.*?^```$/gms, '');
  return [...text.matchAll(/\]\(([^)\s]+)\)|src="([^"]+)"/g)].map(
    (match) => (match[1] ?? match[2]) as string,
  );
}

/** What a link to each heading looks like on code hosts. */
export function anchorsOf(markdown: string): string[] {
  return [...markdown.replaceAll(/^```.*?^```$/gms, '').matchAll(/^#+ (.*)$/gm)].map(
    (match) =>
      `#${(match[1] as string)
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
        .replaceAll(' ', '-')}`,
  );
}

/** A table; vertical bars in its cells are escaped. */
export function markdownTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [header, header.map(() => '---'), ...rows];
  return lines.map((row) => `| ${row.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`).join('\n');
}
