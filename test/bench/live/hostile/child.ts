import { writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { ATTACKS } from './attacks/index.js';
import { sleepUntil, Tally } from './tally.js';
import type { Setting, Target } from './target.js';
import { type Sample, Victim } from './victim.js';

/*
 * A process of its own for the victim and for each attacker: neither may wait for the other. It gets one order and
 * then, for a victim, `stop`.
 */

export type Order =
  | {
      readonly role: 'victim';
      readonly target: Target;
      readonly rateRps: number;
      readonly sloMs: number;
      readonly nice: number;
    }
  | {
      readonly role: 'attacker';
      readonly target: Target;
      readonly attack: string;
      readonly setting: Setting;
      readonly seconds: number;
      /** How long it waits, or attacks again, beyond that if it has no answer yet. */
      readonly graceSeconds: number;
      readonly nice: number;
    };

export type Report =
  | { readonly samples: readonly Sample[]; readonly timeOriginMs: number }
  | { readonly answers: readonly (readonly [string, number])[] };

let victim: Victim | null = null;

// It outlives no parent.
process.on('disconnect', () => process.exit(0));
process.on('message', (order: Order | 'stop') => {
  if (order === 'stop') void report();
  else if (order.role === 'victim') {
    renice(order.nice);
    victim = new Victim(order.target, order.rateRps, order.sloMs);
    victim.start();
  } else void attack(order);
});

async function report(): Promise<void> {
  await victim?.stop();
  send({ samples: victim?.samples ?? [], timeOriginMs: performance.timeOrigin });
}

async function attack(order: Order & { role: 'attacker' }): Promise<void> {
  renice(order.nice);
  reniceSession(order.nice);
  const tally = new Tally();
  const found = ATTACKS.find(({ name, setting }) => name === order.attack && setting === order.setting);
  const overMs = performance.now() + 1000 * (order.seconds + order.graceSeconds);
  const attackOn = async () => {
    // A server may take longer to answer, or to hang up, than an attack takes: the next one is twice as long.
    for (let seconds = order.seconds; tally.isEmpty && performance.now() < overMs; seconds *= 2)
      await found?.run(order.target, tally, Math.min(overMs, performance.now() + 1000 * seconds));
  };
  // It may wait for an answer that never comes: whatever is open then goes down with the process.
  await Promise.race([attackOn(), sleepUntil(overMs)]);
  send({ answers: tally.entries });
}

function send(report: Report): void {
  process.send?.(report, () => process.exit(0));
}

/** Above the others only where that is allowed. */
function renice(nice: number): void {
  try {
    setPriority(nice);
  } catch {
    // Then it competes with them.
  }
}

/** Linux gives each session as much time as the others, whatever its processes' priorities are, unless it has one, too. */
function reniceSession(nice: number): void {
  try {
    writeFileSync('/proc/self/autogroup', String(nice));
  } catch {
    // There are no such groups.
  }
}
