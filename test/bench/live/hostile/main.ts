import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { table } from '../markdown.js';
import { MAIN } from '../processes.js';
import { ATTACKS } from './attacks/index.js';
import { attackFrom, VictimProcess, wallMs } from './players.js';
import { AttackedServer } from './subject.js';
import { Tally } from './tally.js';
import type { Attack } from './target.js';
import type { Sample } from './victim.js';

/** What `npm run bench:live -- --hostile` was asked for. */
export interface HostileFlags {
  readonly only: string;
  readonly seconds: number;
  /** The server's command line; undefined: that of this checkout. */
  readonly main: string | undefined;
  /** Priorities. Below 0 they need rights, without which `nice` leaves 0. */
  readonly nice: number;
  readonly serverNice: number;
  /** HAProxy stands in front of the server. */
  readonly proxy: boolean;
  /** Frontend threads of each transport. */
  readonly frontends: number;
  /** How long memory may take to come back. */
  readonly settleSeconds: number;
}

/** Next to the bundle that this file becomes a part of. */
const CHILD = fileURLToPath(new URL('hostile-child.js', import.meta.url));
const VICTIM = { rateRps: 100, sloMs: 100 };
const QUIET_MS = 4000;
/** After the attack the victim goes on: what it left behind shows now. */
const AFTERMATH_MS = 2000;
const MB = 1e6;

const HEADER = ['attack', 'server', 'quiet p99', 'p99', 'failures', 'memory before, worst, after', 'misses'];

/**
 * A well-behaved client next to each attack, each with a server of its own: a table with a row each, and a line on stderr
 * with what both got. Resolves to whether every aim was reached: no failure, p99 below the SLO, memory back within 20 %,
 * every process alive.
 */
export async function runHostile(flags: HostileFlags): Promise<boolean> {
  const chosen = ATTACKS.filter(
    // Clients of workers do not come through the proxy.
    ({ name, setting }) =>
      new RegExp(flags.only).test(`${name} (${setting})`) && !(flags.proxy && setting === 'cluster-token'),
  );
  const rows: (readonly string[])[] = [];
  for (const attack of chosen) {
    rows.push(await runTrial(attack, flags).catch((error) => [attack.name, '', '', '', '', '', `${error}`]));
    process.stderr.write(`${rows.at(-1)?.join(', ')}\n`);
  }
  process.stdout.write(table(HEADER, rows));
  return rows.every((row) => row.at(-1) === '');
}

/** A fresh server, a victim, and one attack. */
async function runTrial(attack: Attack, flags: HostileFlags): Promise<string[]> {
  const { main = MAIN, nice, serverNice, seconds, settleSeconds, proxy, frontends } = flags;
  const server = await AttackedServer.start(main, attack.setting, { nice: serverNice, proxy, frontends });
  // The victim's own process must get its turn.
  const victim = new VictimProcess(CHILD, server.target, { ...VICTIM, nice: serverNice - 5 });
  try {
    // Compiled code and grown heaps are no part of the quiet.
    await sleep(1500);
    const quietMs = wallMs();
    await sleep(QUIET_MS);
    const before = server.rssBytes;
    const mostAfter = 1.2 * before;
    server.worstBytes = before;
    const attackMs = wallMs();
    const how = { seconds, graceSeconds: 0.5, nice };
    const answers = await attackFrom(CHILD, server.target, attack, how);
    await sleep(AFTERMATH_MS);
    const endMs = wallMs();
    const settledMs = endMs + 1000 * settleSeconds;
    while (wallMs() < settledMs && server.isAlive && server.rssBytes > mostAfter) await sleep(200);
    const after = server.rssBytes;
    const samples = await victim.stop();
    const quiet = figures(samples, quietMs, attackMs);
    const during = figures(samples, attackMs, endMs);
    const counts = (entries: readonly (readonly [string, number])[]) =>
      entries.map(([what, count]) => `${count} × ${what}`).join(', ');
    process.stderr.write(`${attack.name}: ${counts(answers)}; victim: ${counts(during.failures.entries)}\n`);
    if (!server.isAlive) process.stderr.write(`${server.lastWords}\n`);
    const missed = [
      !server.isAlive && 'died',
      quiet.failed > 0 && 'failures before it',
      (during.failed > 0 || during.requests === 0) && 'failures',
      during.p99Ms >= VICTIM.sloMs && 'p99',
      after > mostAfter && 'memory',
    ];
    return [
      ...[attack.name, attack.setting, `${quiet.p99Ms} ms`, `${during.p99Ms} ms`],
      `${during.failed} of ${during.requests}`,
      `${[before, server.worstBytes, after].map((bytes) => Math.round(bytes / MB)).join(', ')} MB`,
      missed.filter((aim) => aim !== false).join(', '),
    ];
  } finally {
    victim.kill();
    await server.stop();
  }
}

function figures(samples: readonly Sample[], fromMs: number, untilMs: number) {
  const of = samples.filter(({ dueMs }) => dueMs >= fromMs && dueMs < untilMs);
  // A failure that comes late has stalled its client, too.
  const latencies = of.map(({ latencyMs }) => latencyMs).sort((a, b) => a - b);
  const p99Ms = Math.round(latencies[Math.floor(0.99 * latencies.length)] ?? 0);
  const failed = of.filter(({ failure }) => failure !== '');
  const failures = new Tally();
  for (const { failure } of failed) failures.add(failure);
  return { requests: of.length, failed: failed.length, failures, p99Ms };
}
