import { PassThrough } from 'node:stream';
import type { ReadStream, WriteStream } from 'node:tty';

/** A terminal as the operating system offers it, on which a test types and looks. */
export class FakeTerminal {
  readonly input: ReadStream;
  readonly output: WriteStream;
  /** Whether keys come one by one, over time. */
  readonly raw: boolean[] = [];
  /** All that was written. */
  written = '';

  constructor(columns: number, rows: number) {
    const input = new PassThrough();
    const output = new PassThrough();
    output.setEncoding('utf8').on('data', (text: string) => {
      this.written += text;
    });
    this.input = Object.assign(input, {
      setRawMode: (raw: boolean) => {
        this.raw.push(raw);
      },
    }) as unknown as ReadStream;
    this.output = Object.assign(output, { columns, rows }) as unknown as WriteStream;
  }

  type(keys: string): void {
    (this.input as unknown as PassThrough).write(keys);
  }

  resize(columns: number, rows: number): void {
    Object.assign(this.output, { columns, rows });
    this.output.emit('resize');
  }

  /** Lines of the latest picture. */
  get lines(): string[] {
    return (this.written.split('\u001b[H').at(-1) as string)
      .split('\r\n')
      .map((line) => line.replace('\u001b[K', ''));
  }
}
