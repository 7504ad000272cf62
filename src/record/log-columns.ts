/** A column of a log: its name in the header and its meaning. Times are integer ns. */
export interface LogColumn {
  readonly name: string;
  readonly describe: string;
}

/** First line of a log: the names, separated by tabs. */
export function headerOf(columns: readonly LogColumn[]): string {
  return `${columns.map((column) => column.name).join('\t')}\n`;
}
