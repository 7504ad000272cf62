/** Cells of the shared memory. */
const NUMBER = 0;
const KIB = 1;

/** Disk limit for profiles of one GPU: about 200,000 operators. */
const MOST_KIB = 128 * 1024;

/** Shared memory that shows the host threads of a GPU whether to record operators, and the amount recorded so far. */
export class RecordSwitch {
  private readonly cells: Int32Array<SharedArrayBuffer>;

  constructor(readonly buffer: SharedArrayBuffer = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT)) {
    this.cells = new Int32Array(buffer);
  }

  /** Incremented with each begin and each end: odd while recording. */
  get number(): number {
    return Atomics.load(this.cells, NUMBER);
  }

  /** For the machine. Wake the threads afterwards. Returns the number. */
  turn(): number {
    Atomics.store(this.cells, KIB, 0);
    return Atomics.add(this.cells, NUMBER, 1) + 1;
  }

  /** For a host thread: adds to the disk space used. */
  wrote(bytes: number): void {
    Atomics.add(this.cells, KIB, Math.ceil(bytes / 1024));
  }

  /** True if nothing more is to be recorded. */
  get full(): boolean {
    return Atomics.load(this.cells, KIB) >= MOST_KIB;
  }
}
