import { OutputFile } from '../base/files/output-file.js';

/** A column of a log: its name in the header and its meaning. Times are integer ns. */
export interface LogColumn {
  readonly name: string;
  readonly describe: string;
}

/** Table of numbers that grows during a run: tab-separated text under a header. Every member throws `E_FILE_WRITE`. */
export class LogFile extends OutputFile {
  constructor(
    path: string,
    readonly columns: readonly LogColumn[],
  ) {
    super(path);
    this.write(`${columns.map(({ name }) => name).join('\t')}\n`);
  }
}
