import { basename, dirname, join } from 'node:path';
import type { Appender, Disk, NumberedFile } from '../../../src/base/world/disk.js';
import type { Simulation } from './simulation.js';
import type { ThreadLoop } from './thread-loop.js';

/** What goes wrong with a disk while it does. */
export interface DiskFaults {
  /** It takes no more bytes: ENOSPC. */
  isFull: boolean;
  /** Writes fail: EIO. */
  fails: boolean;
  /** Each write takes so much longer. */
  slowByNs: number;
}

/** The disk of a simulated machine, in memory. A crash of a process costs nothing that was written; one of the machine does. */
export class SimDisk {
  readonly faults: DiskFaults = { isFull: false, fails: false, slowByNs: 0 };
  private readonly files = new Map<string, SimFile>();

  constructor(private readonly simulation: Simulation) {}

  seenFrom(loop: ThreadLoop): Disk {
    const { files, simulation, faults } = this;
    return {
      append: (name, failed) => {
        const path = this.nextPath(name);
        if (faults.fails) throw systemError('EIO', 'open', path);
        if (faults.isFull) throw systemError('ENOSPC', 'open', path);
        const file: SimFile = { text: '', keptChars: 0, touchedNs: simulation.nowNs };
        files.set(path, file);
        return new SimAppender(path, file, this.faults, loop, failed);
      },
      numbered: (name) => this.numbered(name),
      touch: (path) => {
        const file = files.get(path);
        if (file === undefined) return null;
        file.touchedNs = simulation.nowNs;
        return nsToMs(file.touchedNs);
      },
      remove: (path) => !faults.fails && files.delete(path),
    };
  }

  /** Paths of all files. */
  get list(): readonly string[] {
    return [...this.files.keys()];
  }

  /** Throws where there is no such file. */
  read(path: string): string {
    const file = this.files.get(path);
    if (file === undefined) throw systemError('ENOENT', 'open', path);
    return file.text;
  }

  /** What was written last and not kept yet is gone, up to somewhere. */
  losePower(): void {
    const random = this.simulation.random(`lost-tail/${this.simulation.nowNs}`);
    for (const file of this.files.values()) {
      const lost = Math.floor((file.text.length - file.keptChars) * random());
      file.text = file.text.slice(0, file.text.length - lost);
    }
  }

  private numbered(name: string): NumberedFile[] {
    return this.list
      .flatMap((path) => {
        const number = numberIn(path, name);
        const file = this.files.get(path) as SimFile;
        const { touchedNs, text } = file;
        return number === null ? [] : [{ path, number, bytes: text.length, touchedMs: nsToMs(touchedNs) }];
      })
      .sort((a, b) => a.number - b.number);
  }

  private nextPath(name: string): string {
    const last = this.numbered(name).at(-1)?.number ?? -1;
    return last < 0 ? name : join(dirname(name), `${stemOf(basename(name))}.${last + 1}${endingOf(name)}`);
  }
}

interface SimFile {
  text: string;
  /** These survive when the machine loses power. */
  keptChars: number;
  touchedNs: number;
}

/** Writes reach the system one after the other, and the disk itself a while later. */
class SimAppender implements Appender {
  unwrittenBytes = 0;
  private doneNs = 0;
  private isOver = false;

  constructor(
    readonly path: string,
    private readonly file: SimFile,
    private readonly faults: DiskFaults,
    private readonly loop: ThreadLoop,
    private readonly failed: (cause: Error) => void,
  ) {}

  write(text: string): void {
    if (this.isOver) return;
    this.unwrittenBytes += text.length;
    this.afterWrites(WRITE_NS + this.faults.slowByNs, () => this.written(text));
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        this.isOver = true;
        resolve();
      };
      if (this.isOver) this.loop.receive(0, end);
      else this.afterWrites(WRITE_NS, end);
    });
  }

  destroy(): void {
    this.isOver = true;
    this.unwrittenBytes = 0;
  }

  private written(text: string): void {
    if (this.isOver) return;
    this.unwrittenBytes -= text.length;
    const { file, faults, path, loop } = this;
    if (faults.fails || faults.isFull) {
      this.destroy();
      this.failed(systemError(faults.fails ? 'EIO' : 'ENOSPC', 'write', path));
      return;
    }
    file.text += text;
    file.touchedNs = loop.simulation.nowNs;
    const chars = file.text.length;
    loop.simulation.at(loop.simulation.nowNs + KEEP_NS, () => {
      file.keptChars = Math.max(file.keptChars, Math.min(chars, file.text.length));
    });
  }

  private afterWrites(takesNs: number, run: () => void): void {
    const { nowNs } = this.loop.simulation;
    this.doneNs = Math.max(this.doneNs, nowNs) + takesNs;
    this.loop.receive(this.doneNs - nowNs, run);
  }
}

/** A write reaches the system after this, and the disk after that. */
const WRITE_NS = 100_000;
const KEEP_NS = 5_000_000_000;

const PACKED = '.gz';

function endingOf(name: string): string {
  return name.endsWith(PACKED) ? PACKED : '';
}

function stemOf(name: string): string {
  return name.slice(0, name.length - endingOf(name).length);
}

/** 0 for the name itself; null: it is another. */
function numberIn(path: string, name: string): number | null {
  if (path === name) return 0;
  const [stem, ending] = [stemOf(name), endingOf(name)];
  if (!path.startsWith(`${stem}.`) || !path.endsWith(ending)) return null;
  const digits = path.slice(stem.length + 1, path.length - ending.length);
  return /^[1-9]\d{0,14}$/.test(digits) ? Number(digits) : null;
}

function nsToMs(ns: number): number {
  return Math.floor(ns / 1e6);
}

function systemError(code: string, call: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${call} '${path}'`), { code });
}
