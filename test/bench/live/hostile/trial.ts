import { MIB } from '../../../../src/base/units.js';
import { attackFrom, VictimProcess, wallMs } from './players.js';
import { MOST_STOLEN, untilQuiet } from './quiet-machine.js';
import { type CpuTicks, cpuTicks, stolenShare } from './stolen.js';
import { AttackedServer } from './subject.js';
import type { Attack, Setting } from './target.js';
import type { Sample } from './victim.js';

/** What the victim gets before, and next to, an attack. */
export interface VictimFigures {
  readonly requests: number;
  readonly failures: number;
  /** Kinds of failures and how often each. */
  readonly kinds: Readonly<Record<string, number>>;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Of this machine's CPU time meanwhile, the share that its host gave to others. */
  readonly stolen: number;
}

export interface TrialRow {
  readonly attack: string;
  readonly setting: Setting;
  readonly quiet: VictimFigures;
  readonly victim: VictimFigures;
  /** What the attacker got. */
  readonly answers: readonly (readonly [string, number])[];
  /** Of the server's processes, bytes: before the attack, at most, and when it was over. */
  readonly rssBytes: { readonly before: number; readonly worst: number; readonly after: number };
  readonly alive: boolean;
  /** What the server said last if it died. */
  readonly lastWords: string;
}

export interface TrialOptions {
  /** The command line to run, dist/cli/main.js of some version. */
  readonly main: string;
  /** The bundle of child.ts. */
  readonly child: string;
  readonly seconds: number;
  readonly quietSeconds: number;
  /** Priorities. Below 0 they need rights, without which `nice` leaves 0. */
  readonly serverNice: number;
  readonly victimNice: number;
  readonly attackerNice: number;
  /** How long memory may take to come back. */
  readonly settleSeconds: number;
  /** Before each try, how long to wait for a machine that nothing else keeps busy. */
  readonly waitSeconds: number;
}

const RATE_RPS = 100;
const SLO_MS = 100;
/** After the attack the victim goes on: what it left behind shows now. */
const AFTERMATH_MS = 2000;
/** What may remain in addition to what was there before: a share of it, or for small processes, what threads keep at hand. */
const KEPT_SHARE = 0.2;
const KEPT_BYTES = 40 * MIB;

/** Most memory that counts as back to what it was. */
export function mostAfter(beforeBytes: number): number {
  return beforeBytes + Math.max(KEPT_SHARE * beforeBytes, KEPT_BYTES);
}

const MOST_QUIET_P99_MS = 25;

/** Whether others kept this machine busy while the row was measured. */
export function isDisturbed({ quiet, victim }: TrialRow): boolean {
  return Math.max(quiet.stolen, victim.stolen) > MOST_STOLEN || quiet.p99Ms > MOST_QUIET_P99_MS;
}

/** The first of `tries` trials that nothing disturbed, or else the last. */
export async function runUndisturbed(
  attack: Attack,
  tries: number,
  options: TrialOptions,
): Promise<TrialRow> {
  for (let left = tries; ; left--) {
    await untilQuiet(options.waitSeconds);
    const row = await runTrial(attack, options);
    if (left <= 1 || !isDisturbed(row)) return row;
  }
}

/** A fresh server, a victim, and one attack. */
async function runTrial(attack: Attack, options: TrialOptions): Promise<TrialRow> {
  const { seconds, quietSeconds, victimNice, attackerNice } = options;
  const server = await AttackedServer.start(options.main, attack.setting, options.serverNice);
  const victim = new VictimProcess(options.child, server.target, {
    ...{ rateRps: RATE_RPS, sloMs: SLO_MS },
    nice: victimNice,
  });
  try {
    // Compiled code and grown heaps are no part of the quiet.
    await sleep(1500);
    const quietBegan = moment();
    await sleep(1000 * quietSeconds);
    const before = server.rssBytes;
    server.worstBytes = before;
    const attackBegan = moment();
    const answers = await attackFrom(options.child, server.target, attack, {
      ...{ seconds, graceSeconds: 0.5 },
      nice: attackerNice,
    });
    await sleep(AFTERMATH_MS);
    const until = moment();
    const after = await settled(server, before, options.settleSeconds);
    const samples = await victim.stop();
    return {
      attack: attack.name,
      setting: attack.setting,
      quiet: figures(samples, quietBegan, attackBegan),
      victim: figures(samples, attackBegan, until),
      answers,
      rssBytes: { before, worst: server.worstBytes, after },
      alive: server.isAlive,
      lastWords: server.isAlive ? '' : server.lastWords,
    };
  } finally {
    victim.kill();
    await server.stop();
  }
}

/** Resident memory once it is back, or else after the time that it has. */
async function settled(server: AttackedServer, beforeBytes: number, seconds: number): Promise<number> {
  const untilMs = performance.now() + 1000 * seconds;
  while (performance.now() < untilMs && server.isAlive) {
    if (server.rssBytes <= mostAfter(beforeBytes)) break;
    await sleep(200);
  }
  return server.rssBytes;
}

interface Moment {
  readonly atMs: number;
  readonly ticks: CpuTicks;
}

function moment(): Moment {
  return { atMs: wallMs(), ticks: cpuTicks() };
}

function figures(samples: readonly Sample[], from: Moment, until: Moment): VictimFigures {
  const of = samples.filter(({ dueMs }) => dueMs >= from.atMs && dueMs < until.atMs);
  const kinds: Record<string, number> = {};
  for (const { failure } of of) if (failure !== '') kinds[failure] = (kinds[failure] ?? 0) + 1;
  // A failure that comes late has stalled its client, too.
  const latencies = of.map(({ latencyMs }) => latencyMs).sort((a, b) => a - b);
  const at = (share: number) =>
    latencies[Math.min(latencies.length - 1, Math.floor(share * latencies.length))];
  const failures = of.filter(({ failure }) => failure !== '').length;
  const stolen = stolenShare(from.ticks, until.ticks);
  return { requests: of.length, failures, kinds, p50Ms: at(0.5), p99Ms: at(0.99), stolen };
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
