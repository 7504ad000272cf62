import { normalize, relative } from 'pathe';
import { EscapementError } from '../base/errors.js';
import type { InputFiles, InputStat } from '../base/world/input-files.js';
import type { ExperimentHost } from '../config/experiment-host.js';

/** Files held by a page, by the paths that the experiment names: text, or bytes. */
export type PageFiles = Readonly<Record<string, string | Uint8Array>>;

/** Rows of a trace are decoded a block at a time, in memory that grows with the block. */
const BLOCK_BYTES = 1 << 18;

/** Host of an experiment in a page, which reads only the files that it is given. */
export class GivenFiles implements ExperimentHost, InputFiles {
  readonly input = this;
  private readonly files: ReadonlyMap<string, Uint8Array>;

  constructor(files: PageFiles) {
    const utf8 = new TextEncoder();
    this.files = new Map(
      Object.entries(files).map(([path, content]) => [
        normalize(path),
        typeof content === 'string' ? utf8.encode(content) : content,
      ]),
    );
  }

  locate(path: string): string {
    this.contentOf(path);
    return path;
  }

  module(path: string): never {
    const what = 'a page cannot load modules: import it and pass its policies';
    throw new EscapementError('E_PLUGIN', what, { file: path });
  }

  entries(folder: string): Promise<readonly string[]> {
    const ways = [...this.files.keys()].map((path) => relative(folder, path).split('/')[0] as string);
    return Promise.resolve(ways.filter((way) => way !== '..'));
  }

  async text(path: string): Promise<string> {
    return new TextDecoder('utf-8', { ignoreBOM: true }).decode(this.contentOf(path));
  }

  async *bytes(path: string, start = 0): AsyncGenerator<Uint8Array, void, void> {
    const content = this.contentOf(path);
    if (path.endsWith('.gz')) yield* unpacked(content, path);
    else
      for (let at = start; at < content.length; at += BLOCK_BYTES)
        yield content.subarray(at, at + BLOCK_BYTES);
  }

  async stat(path: string): Promise<InputStat> {
    return { bytes: this.contentOf(path).length, version: '' };
  }

  private contentOf(path: string): Uint8Array {
    const content = this.files.get(normalize(path));
    if (content !== undefined) return content;
    const given = [...this.files.keys()].join(', ');
    const what = `was not given; ${given === '' ? 'no file was' : `there are ${given}`}`;
    throw new EscapementError('E_FILE_MISSING', what, { file: path });
  }
}

async function* unpacked(content: Uint8Array, path: string): AsyncGenerator<Uint8Array, void, void> {
  const reader = new Blob([content as Uint8Array<ArrayBuffer>])
    .stream()
    .pipeThrough(new DecompressionStream('gzip'))
    .getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } catch (error) {
    const what = `the compressed data ends early or is corrupt (${error}); fetch or make the file again`;
    throw new EscapementError('E_FILE_TRUNCATED', what, { file: path });
  } finally {
    await reader.cancel().catch(() => {});
  }
}
