/** A fenced block of a Markdown text. */
export interface Fence {
  readonly language: string;
  readonly code: string;
  /** 1-based line of the opening fence. */
  readonly line: number;
}

export function fencesOf(markdown: string): Fence[] {
  return [...markdown.matchAll(/^```(\w*)\n(.*?)^```$/gms)].map(({ 1: language, 2: code, index }) => ({
    language: language as string,
    code: code as string,
    line: markdown.slice(0, index).split('\n').length,
  }));
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
