import type { ReadStream, WriteStream } from 'node:tty';
import type { ClusterStatus } from '../../live/observe/status/cluster-status.js';
import { fetchStatus, type StatusAccess } from './fetch-status.js';
import { elapsed } from './figures.js';
import { type Paint, paintLine } from './line.js';
import { renderScreen, type Screen } from './screen.js';
import { Terminal } from './terminal.js';
import { FIRST_VIEW, type Key, pressed, QUIT } from './view-state.js';

interface TopOptions extends StatusAccess {
  /** The controller's metrics port, e.g. `http://127.0.0.1:8002`. */
  readonly url: string;
  readonly intervalMs: number;
  readonly paint: Paint;
  readonly input: ReadStream;
  readonly output: WriteStream;
}

/**
 * Shows a controller on the whole terminal until the user quits. Throws `E_SERVER` if it cannot be reached at the start;
 * if it goes away later, the screen says so and polling continues.
 */
export async function runTop(options: TopOptions): Promise<void> {
  const first = await fetchStatus(options.url, options);
  await new Promise<void>((resolve, reject) => new Top(options, first, resolve, reject));
}

class Top {
  private view = FIRST_VIEW;
  private latest: ClusterStatus;
  /** What is shown: while paused, what was the latest then. */
  private shown: ClusterStatus;
  private latestMs = performance.now();
  private failure = '';
  private screen: Screen | null = null;
  private timer: NodeJS.Timeout | undefined;
  private ended = false;
  private readonly terminal: Terminal;

  constructor(
    private readonly options: TopOptions,
    first: ClusterStatus,
    private readonly resolve: () => void,
    private readonly reject: (error: unknown) => void,
  ) {
    this.latest = first;
    this.shown = first;
    this.terminal = new Terminal(options.input, options.output, {
      key: (key) => this.guard(() => this.press(key)),
      resized: () => this.guard(() => this.draw()),
      ended: () => this.end(null),
    });
    this.terminal.open();
    this.pollLater();
  }

  private draw(): void {
    const { url, paint } = this.options;
    const { columns, rows } = this.terminal;
    this.screen = renderScreen({ url, status: this.shown, problem: this.problem() }, this.view, {
      columns,
      rows,
    });
    this.terminal.draw(this.screen.lines.map((line) => paintLine(line, paint)));
  }

  private problem(): string {
    if (this.failure === '') return '';
    return `${this.failure} for ${elapsed((performance.now() - this.latestMs) / 1000)}, trying again`;
  }

  private press(key: Key): void {
    if (this.screen === null) return;
    const view = pressed(this.view, key, this.screen.extent);
    if (view === QUIT) {
      this.end(null);
      return;
    }
    this.view = view;
    if (!view.paused) this.shown = this.latest;
    this.draw();
  }

  private pollLater(): void {
    this.timer = setTimeout(() => void this.poll(), this.options.intervalMs);
  }

  private async poll(): Promise<void> {
    try {
      this.latest = await fetchStatus(this.options.url, this.options);
      this.latestMs = performance.now();
      this.failure = '';
    } catch {
      this.failure = 'no answer';
    }
    if (this.ended) return;
    this.guard(() => {
      if (!this.view.paused) this.shown = this.latest;
      this.draw();
      this.pollLater();
    });
  }

  /** A mistake of ours must be read on the terminal as it was before, not on one that is about to vanish. */
  private guard(action: () => void): void {
    try {
      action();
    } catch (error) {
      this.end(error);
    }
  }

  private end(error: unknown): void {
    this.ended = true;
    clearTimeout(this.timer);
    this.terminal.close();
    if (error === null) this.resolve();
    else this.reject(error);
  }
}
