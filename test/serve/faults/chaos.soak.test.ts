import { randomInt } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { EXIT_CODES } from '../../../src/cli/exit-codes.js';
import { runCli, tempDir } from '../../cli/run-cli.js';
import { Draw } from '../../swarm/draw.js';
import { smallDisk } from '../small-disk.js';
import { type Chaos, chaosRound } from './chaos.js';
import { play, type Scenario } from './play.js';
import { DOUBLING, writeModels } from './scenarios/models.js';

/** Faults in the same order again: CHAOS_SEED=123 npx vitest run --project=soak test/serve/faults/chaos */
const SEED = Number(process.env.CHAOS_SEED ?? randomInt(2 ** 40));
const MINUTES = Number(process.env.CHAOS_MINUTES ?? 5);
const WORKERS = 3;
const DISK_BYTES = 8 << 20;

it(`faults that overlap, drawn for ${MINUTES} minutes, cost no answer (CHAOS_SEED=${SEED})`, {
  timeout: (MINUTES + 10) * 60_000,
}, async ({ annotate }) => {
  const disk = smallDisk(DISK_BYTES);
  if (disk === null)
    await annotate('no disk is full: none of its own can be mounted here, which takes rights and Linux');
  const repository = tempDir();
  writeModels(repository);
  const journalDir = disk ?? tempDir();
  const chaos = { draw: new Draw(SEED, 'chaos'), workers: WORKERS, disk };
  await play(rounds(chaos), {
    ...{ workers: WORKERS, subjects: DOUBLING, device: ['--repository', repository, '--memory', '256MiB'] },
    ...{ journalDir, keepsFiles: false },
  });
  for (const name of readdirSync(journalDir)) await replays(join(journalDir, name));
});

/** Says each round as it begins: one that does not end is the last one. */
function* rounds(chaos: Chaos): Generator<Scenario> {
  const endMs = performance.now() + MINUTES * 60_000;
  while (performance.now() < endMs) {
    const round = chaosRound(chaos);
    process.stdout.write(`${new Date().toISOString()} ${round.name}\n`);
    yield round;
  }
}

/**
 * What a controller has decided follows from its journal, as far as that goes: it was killed, or its disk was full.
 * Where that happened before the header was whole, `replay` says so.
 */
async function replays(journal: string): Promise<void> {
  const headed = readFileSync(journal).includes('\n');
  const { status, stderr } = await runCli(['replay', journal]);
  if (!headed) expect(stderr).toContain('has no complete header');
  expect(status, `${journal}: ${stderr}`).toBe(headed ? 0 : EXIT_CODES.E_JOURNAL.exit);
}
