import { isAbsolute, relative } from 'node:path';
import { writeWhole } from '../../base/files/output-file.js';
import { STANDARD_INPUT } from '../../base/files/standard-input.js';
import type { Setup } from '../../play/share/address.js';
import { json, overrideFlags, overridesOf, print } from '../common-options.js';
import { untilStopped } from '../interruption.js';
import { group, text, toggle, usageError, type ValuesOf, whole } from '../options.js';
import { checkOutputFlags } from '../output-flags.js';

const { set, seed } = overrideFlags;

export const flags = {
  file: text('Experiment file (YAML); - reads standard input; default: a built-in one'),
  ...group('Experiment', { set, seed }),
  ...group('Page', {
    port: whole(0).or(0, 'Port on this machine; 0: any free port'),
    open: { ...toggle('Open a browser; --no-open: do not'), default: true },
    html: text('Write the page to this file, which needs no server and no network, and exit'),
  }),
  ...group('Output', { json }),
};
export const examples = [
  'play',
  'play experiments/schedule-ahead.yaml --set slo=25ms',
  'play experiments/mixed-slos.yaml --html mixed-slos.html',
];

type Args = ValuesOf<typeof flags>;

/** `escapement play [FILE]`: the scheduler in a web page, served by this machine or written to a file. */
export async function handler(args: Args): Promise<void> {
  const { html, json, port } = args;
  checkOutputFlags({ html }, args.file === undefined ? [] : [args.file]);
  const { openBrowser, playPage, servePage } = await import('../../tools/play/page.js');
  const page = playPage(await setupOf(args));
  if (html !== undefined) {
    writeWhole(html, page);
    return print(args, { html }, () => `page: ${html}\n`);
  }
  // Must precede the printed address: whatever reads it may stop the command at once.
  const stopped = untilStopped();
  const { url, close } = await servePage(page, port);
  print(args, { url }, () => `${url}\nCtrl-C ends it.\n`);
  if (args.open && !json) openBrowser(url);
  await stopped;
  await close();
}

/** The experiment with all files that it reads; null: the page uses its own. */
async function setupOf({ file, ...args }: Args): Promise<Setup | null> {
  const overrides = overridesOf(args);
  if (file === undefined) {
    if (overrides.length === 0) return null;
    throw usageError('--set and --seed need an experiment FILE');
  }
  const { NotedFiles } = await import('../../config/files-on-disk.js');
  const { buildExperiment } = await import('../../config/build.js');
  const { readExperimentSource } = await import('../../config/load.js');
  const { setupWithFiles } = await import('../../tools/play/page.js');
  // Relative, to distinguish the file's own absolute path from a path that it names.
  const near = isAbsolute(file) && file !== STANDARD_INPUT ? relative('.', file) : file;
  const source = await readExperimentSource(near);
  const noted = new NotedFiles();
  await buildExperiment(source, { overrides, host: noted });
  return setupWithFiles(source, overrides, noted.files);
}
