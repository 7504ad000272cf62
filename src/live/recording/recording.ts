/** Limit of a minute at about 3,000 requests/s; at most 64 MB, and about as much again if all have traces. */
const MOST_ROWS = 500_000;
/** Rows per block: a new block is allocated in microseconds. */
const BLOCK_ROWS = 1024;

/** Events of a recorded server, as tables. All times are the controller's, ns. */
export class Recording {
  readonly steps = new Table(['begin', 'took', 'arrived', 'answered', 'results', 'sent']);
  /** `step` is the row of the decision that it came from; −1: not recorded. Begin, end and copies are the worker's. */
  readonly actions = new Table([
    ...(['id', 'kind', 'gpu', 'model', 'batch', 'count', 'status', 'step'] as const),
    ...(['sent', 'earliest', 'latest', 'expected', 'begin', 'end', 'copyIn', 'copyOut'] as const),
  ]);
  /** `action` is −1 if none served it. */
  readonly requests = new Table(['id', 'model', 'arrival', 'slo', 'outcome', 'answered', 'action', 'copies']);
  /** Traces by request. */
  readonly traces = new Map<number, string>();
  /** Number of rows beyond the limit. */
  dropped = 0;

  constructor(
    readonly fromNs: number,
    private readonly mostRows = MOST_ROWS,
  ) {}

  add<Column extends string>(table: Table<Column>, row: Readonly<Record<Column, number>>): void {
    const rows = this.steps.count + this.actions.count + this.requests.count;
    if (rows < this.mostRows) table.add(row);
    else this.dropped++;
  }

  /** Trace of a request whose row comes later. */
  addTrace(request: number, traceparent: string): void {
    if (this.traces.size < this.mostRows) this.traces.set(request, traceparent);
  }
}

/**
 * A table of numbers that grows without moving its contents, so that adding a row never takes long, and that the garbage
 * collector need not scan.
 */
class Table<Column extends string> {
  count = 0;
  private readonly blocks: Float64Array[] = [];

  constructor(private readonly columns: readonly Column[]) {}

  add(row: Readonly<Record<Column, number>>): void {
    const { columns, blocks } = this;
    const at = (this.count++ % BLOCK_ROWS) * columns.length;
    if (at === 0) blocks.push(new Float64Array(BLOCK_ROWS * columns.length));
    const block = blocks[blocks.length - 1];
    for (let i = 0; i < columns.length; i++) block[at + i] = row[columns[i]];
  }

  row(index: number): Readonly<Record<Column, number>> {
    const { columns } = this;
    const at = (index % BLOCK_ROWS) * columns.length;
    const block = this.blocks[Math.floor(index / BLOCK_ROWS)];
    const cells = columns.map((column, i) => [column, block[at + i]]);
    return Object.fromEntries(cells);
  }

  *rows(): Generator<Readonly<Record<Column, number>>> {
    for (let index = 0; index < this.count; index++) yield this.row(index);
  }
}

/** Row of an action. */
export type ActionRow = ReturnType<Recording['actions']['row']>;
