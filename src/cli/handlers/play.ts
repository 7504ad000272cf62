import { isAbsolute, relative } from 'node:path';
import { EscapementError } from '../../base/errors.js';
import { writeWhole } from '../../base/files/output-file.js';
import { STANDARD_INPUT } from '../../base/files/standard-input.js';
import { buildExperiment } from '../../config/build.js';
import { NotedFiles } from '../../config/files-on-disk.js';
import { readExperimentSource } from '../../config/load.js';
import type { Setup } from '../../play/share/address.js';
import { writeOut } from '../../text/terminal.js';
import type { PlayArgs } from '../commands/play.js';
import { untilStopped } from '../interruption.js';
import { checkOutputFlags } from '../output-flags.js';
import { overridesOf } from '../overrides.js';

/** `escapement play [FILE]`: the scheduler in a web page of this machine, or of a file. */
export async function run(args: PlayArgs): Promise<void> {
  const { html, json } = args;
  checkOutputFlags({ html }, args.file === undefined ? [] : [args.file]);
  const { playPage } = await import('../../tools/play/play-page.js');
  const page = playPage(await setupOf(args));
  if (html !== undefined) {
    writeWhole(html, page);
    writeOut(json ? `${JSON.stringify({ html })}\n` : `page: ${html}\n`);
    return;
  }
  await servePlay(page, args);
}

async function servePlay(page: string, { port, json, open }: PlayArgs): Promise<void> {
  const { servePage } = await import('../../tools/play/serve-page.js');
  // Before the address is printed: who reads it may stop the command at once.
  const stopped = untilStopped();
  const served = await servePage(page, port);
  const { url } = served;
  writeOut(json ? `${JSON.stringify({ url })}\n` : `${url}\nCtrl-C ends it.\n`);
  if (open && !json) {
    const { openBrowser } = await import('../../tools/play/open-browser.js');
    openBrowser(url);
  }
  await stopped;
  await served.close();
}

/** The experiment with all that it reads; null: the page shows its own. */
async function setupOf({ file, set, seed }: PlayArgs): Promise<Setup | null> {
  const overrides = overridesOf({ set, seed });
  if (file === undefined) {
    if (overrides.length === 0) return null;
    throw new EscapementError('E_USAGE', '--set and --seed need an experiment FILE');
  }
  // Relative, so that an absolute path of the file can be told apart from one that it names.
  const near = isAbsolute(file) && file !== STANDARD_INPUT ? relative('.', file) : file;
  const source = await readExperimentSource(near);
  const noted = new NotedFiles();
  await buildExperiment(source, { overrides, host: noted });
  const { setupWithFiles } = await import('../../tools/play/setup-files.js');
  return setupWithFiles(source, overrides, noted.files);
}
