import { createPolicyOf } from '../../../src/config/create-policy.js';
import { replayJournal } from '../../../src/live/journal/replay.js';
import type { PolicyOptions } from '../../../src/policies/entry.js';
import type { History, JournalFile } from '../history/history.js';
import { type Check, Findings } from './finding.js';

/** Each journal replays to the digest that it ends with; one that was cut off replays up to there. */
export const journals: Check = {
  name: 'journals',
  async run({ journals: files, events }: History) {
    const findings = new Findings('journals');
    const endNs = events.at(-1)?.atNs ?? 0;
    for (const file of files) {
      const problem = await problemOf(file);
      if (problem !== '') findings.add(endNs, `journal ${file.path} of ${file.process} ${problem}`);
    }
    return findings.list;
  },
};

/** Empty: there is none. */
async function problemOf({ path, text, mayBeCut }: JournalFile): Promise<string> {
  if (mayBeCut && !text.includes('\n')) return '';
  try {
    const { digest, recordedDigest } = await replayJournal(path, {
      text: [text],
      createPolicy: ({ policy: { kind, options } }, context) =>
        createPolicyOf({ kind, options: options as PolicyOptions })(context),
    });
    if (recordedDigest === null)
      return mayBeCut ? '' : 'was cut off, though nothing happened to its process or disk';
    return digest === recordedDigest ? '' : `replays to ${digest}, and was recorded with ${recordedDigest}`;
  } catch (error) {
    return `does not replay: ${(error as Error).message}`;
  }
}
