import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ATTACKS } from './attacks/index.js';
import { type JudgedRow, renewPage } from './page.js';
import { isDisturbed, mostAfter, runUndisturbed, type TrialRow } from './trial.js';

/** What `npm run bench:live -- --hostile` was asked for. */
export interface HostileFlags {
  readonly only: string;
  readonly seconds: number;
  /** The server's command line; undefined: that of this checkout. */
  readonly main: string | undefined;
  readonly nice: number;
  readonly serverNice: number;
  readonly settleSeconds: number;
  /** Measures a row up to so many times while something else keeps the machine busy. */
  readonly tries: number;
  readonly waitSeconds: number;
  readonly json: boolean;
  /** A page whose table of rows that miss an aim is renewed; undefined: none. */
  readonly page: string | undefined;
}

const DIST = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
/** Next to the bundle that this file becomes a part of. */
const CHILD = fileURLToPath(new URL('hostile-child.js', import.meta.url));
const MB = 1e6;

/**
 * A well-behaved client next to each attack, each with a server of its own. A row each, as a Markdown table or as lines of
 * JSON; false if an aim was missed.
 */
export async function runHostile(flags: HostileFlags): Promise<boolean> {
  const { only, seconds, main = DIST, nice, serverNice, settleSeconds, waitSeconds, tries } = flags;
  const { json, page } = flags;
  const chosen = ATTACKS.filter(({ name, setting }) => new RegExp(only).test(`${name} (${setting})`));
  const options = {
    ...{ main, seconds, child: CHILD, quietSeconds: 4, settleSeconds, waitSeconds },
    // The victim's own process must get its turn; attackers are elsewhere, as far as a scheduler can arrange that.
    ...{ victimNice: serverNice - 5, serverNice, attackerNice: nice },
  };
  if (!json) process.stdout.write(HEADER);
  const judged: JudgedRow[] = [];
  for (const attack of chosen) {
    const row = await runUndisturbed(attack, tries, options).catch((error: unknown) => ({
      error: String(error),
    }));
    if ('error' in row) {
      judged.push({ attack: attack.name, row: null, missed: ['no result'] });
      process.stdout.write(`| ${attack.name} | no result: ${row.error.replaceAll('\n', ' ')} |\n`);
      continue;
    }
    const missed = missedAims(row);
    judged.push({ attack: attack.name, row, missed });
    process.stdout.write(json ? `${JSON.stringify({ ...row, missed })}\n` : line(row, missed));
    if (!row.alive) process.stderr.write(`${row.lastWords}\n`);
  }
  const disturbed = judged.filter(({ row }) => row !== null && isDisturbed(row)).length;
  if (!json) process.stdout.write(`\n${summary(chosen.length, disturbed)}\n`);
  if (page !== undefined) writeFileSync(page, renewPage(readFileSync(page, 'utf8'), judged));
  return judged.every(({ missed }) => missed.length === 0);
}

function summary(rows: number, disturbed: number): string {
  if (disturbed === 0) return `Nothing disturbed the ${rows} rows.`;
  return (
    `Other work or the machine's host disturbed ${disturbed} of ${rows} rows, marked with *: their figures are not those of ` +
    'the server alone.'
  );
}

/**
 * Aims: no failure, p99 at most twice the quiet one plus 20 ms, memory back, every process alive. A server that fails
 * without an attack reaches none.
 */
export function missedAims({ quiet, victim, rssBytes, alive }: TrialRow): string[] {
  const missed: string[] = [];
  if (!alive) missed.push('died');
  if (quiet.failures > 0) missed.push('failures before it');
  if (victim.failures > 0 || victim.requests === 0) missed.push('failures');
  if (victim.p99Ms > 2 * quiet.p99Ms + 20) missed.push('p99');
  if (rssBytes.after > mostAfter(rssBytes.before)) missed.push('memory');
  return missed;
}

const COLUMNS = [
  ...['attack', 'server', 'stolen %', 'quiet p50/p99 ms', 'p50 ms', 'p99 ms', 'failures', 'attacker got'],
  ...['RSS MB before', 'worst', 'after', 'missed'],
];
const HEADER = `${cells(COLUMNS)}${cells(COLUMNS.map(() => '---'))}`;

function line(row: TrialRow, missed: string[]): string {
  const { attack, setting, quiet, victim, answers, rssBytes } = row;
  const kinds = Object.entries(victim.kinds).map(([kind, count]) => `${count} ${kind}`);
  const got = answers.slice(0, 5).map(([what, count]) => `${count} × ${what}`);
  return cells([
    attack,
    setting,
    `${percent(quiet.stolen)}/${percent(victim.stolen)}${isDisturbed(row) ? ' *' : ''}`,
    `${quiet.p50Ms?.toFixed(1)}/${quiet.p99Ms?.toFixed(1)}`,
    victim.p50Ms?.toFixed(1),
    victim.p99Ms?.toFixed(1),
    `${victim.failures} of ${victim.requests}${kinds.length === 0 ? '' : `: ${kinds.join(', ')}`}`,
    got.join(', '),
    ...[rssBytes.before, rssBytes.worst, rssBytes.after].map((bytes) => (bytes / MB).toFixed(0)),
    missed.length === 0 ? '' : `**${missed.join(', ')}**`,
  ]);
}

function percent(share: number): string {
  return (100 * share).toFixed(1);
}

function cells(values: readonly (string | undefined)[]): string {
  return `| ${values.join(' | ')} |\n`;
}
