import type { Argv } from 'yargs';
import { json } from '../common-options.js';
import { type ArgsOf, group, required, text } from '../options.js';

const builder = (yargs: Argv) =>
  yargs
    .positional('path', required(text('Profile (JSON)')))
    .options(group('Options', { json }))
    .example([['$0 profile show experiments/profiles/resnet50_v2.v100.json', '']]);

export type ProfileShowArgs = ArgsOf<typeof builder>;

export const profileShow = {
  command: 'show <path>',
  describe: 'Print the latencies of a profile and their sources',
  builder,
};
