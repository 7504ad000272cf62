/** Rows per block: a new block is allocated in microseconds. */
const BLOCK_ROWS = 1024;

/**
 * A table of numbers that grows without moving its contents, so that adding a row never takes long, and that the
 * garbage collector need not scan.
 *
 *     const at = rows.add();
 *     rows.block[at + BEGIN] = nowNs;
 */
export class Rows {
  count = 0;
  /** Block with the row added last. */
  block = new Float64Array(0);
  private readonly blocks: Float64Array[] = [];

  constructor(private readonly width: number) {}

  /** Adds a row: returns its start in `block`. */
  add(): number {
    const row = this.count++ % BLOCK_ROWS;
    if (row === 0) {
      this.block = new Float64Array(BLOCK_ROWS * this.width);
      this.blocks.push(this.block);
    }
    return row * this.width;
  }

  get(row: number, column: number): number {
    return this.blocks[Math.floor(row / BLOCK_ROWS)][(row % BLOCK_ROWS) * this.width + column];
  }
}
