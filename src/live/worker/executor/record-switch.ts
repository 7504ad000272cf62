/** Cells of the shared memory. */
const NUMBER = 0;
const KIB = 1;

/** Profiles of one GPU take so much of the disk at most: about 200,000 operators. */
const MOST_KIB = 128 * 1024;

/** Tells the host threads of a GPU, by shared memory, whether operators are to be recorded, and how many already are. */
export class RecordSwitch {
  private readonly cells: Int32Array<SharedArrayBuffer>;

  constructor(readonly buffer: SharedArrayBuffer = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT)) {
    this.cells = new Int32Array(buffer);
  }

  /** Goes up by one with each begin and each end: odd while operators are recorded. */
  get number(): number {
    return Atomics.load(this.cells, NUMBER);
  }

  /** By the machine. Wake the threads afterwards. Returns the number. */
  turn(): number {
    Atomics.store(this.cells, KIB, 0);
    return Atomics.add(this.cells, NUMBER, 1) + 1;
  }

  /** By a host thread: so much more of the disk is taken. */
  wrote(bytes: number): void {
    Atomics.add(this.cells, KIB, Math.ceil(bytes / 1024));
  }

  /** Nothing more is to be recorded. */
  get full(): boolean {
    return Atomics.load(this.cells, KIB) >= MOST_KIB;
  }
}
