import { type ChildProcess, fork } from 'node:child_process';
import type { Order, Report } from './child.js';
import type { Attack, Target } from './target.js';
import type { Sample } from './victim.js';

interface VictimOptions {
  readonly rateRps: number;
  readonly sloMs: number;
  readonly nice: number;
}

/** A victim in a process of its own, from its start on. */
export class VictimProcess {
  private readonly child: ChildProcess;

  constructor(bundle: string, target: Target, options: VictimOptions) {
    this.child = fork(bundle);
    order(this.child, { role: 'victim', target, ...options });
  }

  /** All that it sent, due on the clock of `wallMs`, once everything is answered. */
  async stop(): Promise<Sample[]> {
    this.child.send('stop');
    const report = await reportOf(this.child);
    if (report === null || !('samples' in report)) throw new Error('the victim ended by itself');
    return report.samples.map((sample) => ({ ...sample, dueMs: sample.dueMs + report.timeOriginMs }));
  }

  kill(): void {
    this.child.kill('SIGKILL');
  }
}

/** Attacks from a process of its own, which has no token. Resolves to what it got. */
export async function attackFrom(
  bundle: string,
  target: Target,
  { name, setting }: Attack,
  how: { readonly seconds: number; readonly graceSeconds: number; readonly nice: number },
): Promise<readonly (readonly [string, number])[]> {
  // In a session of its own, with a priority of its own: a host elsewhere would take none of the server's time.
  const child = fork(bundle, { detached: true });
  try {
    const ofTarget = { ...target, token: null };
    order(child, { role: 'attacker', target: ofTarget, attack: name, setting, ...how });
    const report = await reportOf(child);
    return report !== null && 'answers' in report ? report.answers : [['the attacker ended', 1]];
  } finally {
    child.kill('SIGKILL');
  }
}

/** Now, the same for all processes. */
export function wallMs(): number {
  return performance.timeOrigin + performance.now();
}

function order(child: ChildProcess, what: Order): void {
  child.send(what);
}

/** Null: the child ended without one. */
function reportOf(child: ChildProcess): Promise<Report | null> {
  return new Promise((resolve) => {
    child.once('message', (report) => resolve(report as Report));
    child.once('exit', () => resolve(null));
  });
}
