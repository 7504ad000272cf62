import { readdirSync } from 'node:fs';
import { expect } from 'vitest';
import { runCli } from '../../cli/run-cli.js';
import type { CountingClients } from './clients/counting-clients.js';
import { Rig, type RigOptions } from './rig.js';

/** Longer than any of the faults, with the time to notice it. */
export const SLO_MS = 20_000;

/** A fault, and what it may cost. */
export interface Scenario {
  readonly name: string;
  /** Makes the fault, and ends it. */
  readonly inject: (rig: Rig, clients: CountingClients) => Promise<void>;
  /** What requests may be refused with meanwhile; default: none may fail. */
  readonly excuse?: RegExp;
  /** How often what clients have under way may break off; connections may be refused then. */
  readonly breaks?: number;
}

export const NO_WORKER = /no worker is up/;
/** Said by a controller that has just been started. */
export const STARTING =
  /no worker is up|the server is not ready: starting|is not ready yet: (?:waiting to be|being) (?:prepared|measured)/;
/** Said of a worker that a fault has stopped, and on a busy machine of one that none has. */
export const SILENT = /has said nothing for/;
/** File descriptors that a process may have more than at the start. */
const MORE_DESCRIPTORS = 40;

/** Runs one scenario after the other against one set of processes, and holds what clients have counted against it. */
export async function play(scenarios: Iterable<Scenario>, options: RigOptions = {}): Promise<void> {
  const rig = await new Rig(options).start();
  await rig.allUp();
  const clients = rig.clients(SLO_MS);
  await clients.someMore(30);
  const descriptorsBefore = descriptors(rig);
  for (const scenario of scenarios) {
    const { controller } = rig;
    const from = controller?.stderr.length;
    await scenario.inject(rig, clients);
    await rig.allUp();
    await clients.someMore(30);
    if (SILENT.test(controller?.stderr.slice(from) ?? '')) clients.tally.excuse(NO_WORKER);
    judge(scenario, clients);
  }
  const descriptorsAfter = descriptors(rig);
  const { sent, ok, refused } = await clients.stop();
  expect(ok + refused).toBeGreaterThan(0);
  expect(ok + refused).toBeLessThanOrEqual(sent);
  expect(descriptorsAfter).toBeLessThan(descriptorsBefore + MORE_DESCRIPTORS);
  expect(await rig.controller?.kill('SIGTERM')).toBe(0);
  expect(plainLines(rig)).toEqual([]);
  if (options.keepsFiles !== false) await replays(rig);
}

/** None lost, doubled or wrong; none failed without an excuse. */
function judge({ name, excuse, breaks = 0 }: Scenario, { tally, count }: CountingClients): void {
  if (excuse !== undefined) tally.excuse(excuse);
  if (breaks > 0) {
    expect(tally.broken, `${name}: broken connections`).toBeLessThanOrEqual(breaks * count);
    tally.broken = 0;
    tally.refused = 0;
  }
  const { lost, broken, refused, wrong, doubled, failures } = tally;
  expect({ name, lost, broken, refused, wrong, doubled, failures: [...failures] }).toEqual({
    name,
    lost: 0,
    broken: 0,
    refused: 0,
    wrong: [],
    doubled: [],
    failures: [],
  });
}

function descriptors({ controller }: Rig): number {
  return readdirSync(`/proc/${controller?.pid}/fd`).length;
}

function plainLines(rig: Rig): string[] {
  const lines = rig.controller?.stderr.trimEnd().split('\n') ?? [];
  return lines.filter((line) => !line.startsWith('{'));
}

/** What the last controller has decided follows from its journal. */
async function replays(rig: Rig): Promise<void> {
  const journal = rig.starts === 1 ? rig.journal : `${rig.journal}.${rig.starts - 1}`;
  const { status, stderr } = await runCli(['replay', journal]);
  expect(status, stderr).toBe(0);
}
