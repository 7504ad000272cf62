import { PassThrough } from 'node:stream';
import type { WriteStream } from 'node:tty';

/** A terminal as the operating system offers it, at which a test looks. */
export class FakeTerminal {
  readonly output: WriteStream;
  /** All that was written. */
  written = '';

  constructor(columns: number, rows: number) {
    const output = new PassThrough();
    output.setEncoding('utf8').on('data', (text: string) => {
      this.written += text;
    });
    this.output = Object.assign(output, { columns, rows }) as unknown as WriteStream;
  }

  resize(columns: number, rows: number): void {
    Object.assign(this.output, { columns, rows });
  }

  /** Lines of the latest picture. */
  get lines(): string[] {
    return (this.written.split('\u001b[H').at(-1) as string)
      .replace('\u001b[J', '')
      .trimEnd()
      .split('\n')
      .map((line) => line.replace('\u001b[K', ''));
  }
}
