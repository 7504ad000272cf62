import type { Argv } from 'yargs';
import type { OptimizedModel } from '../../live/models/optimize.js';
import { writeOut } from '../../text/terminal.js';
import { json, precisionFlag } from '../common-options.js';
import { type ArgsOf, group } from '../options.js';
import { cacheFlags, deviceFlags } from '../server-options.js';
import { repositoryFolder } from './model-list.js';

export const builder = (yargs: Argv) =>
  yargs
    .positional('repository', repositoryFolder)
    .options(
      group('Options', {
        device: { ...deviceFlags.device, group: 'Options' },
        precision: precisionFlag,
        'cache-dir': { ...cacheFlags['cache-dir'], group: 'Options' },
        json,
      }),
    )
    .example([['$0 model optimize models --device webgpu', '']])
    .epilogue('Files that are up to date are kept.');

/** `escapement model optimize DIR`: prepares the files that devices load, ahead of serving. */
export async function handler(args: ArgsOf<typeof builder>): Promise<void> {
  const { runtimeOf } = await import('../live-settings.js');
  const { device: kind, precision } = args;
  // Loads onnxruntime only if models are inspected.
  const { optimizeModel } = await import('../../live/models/optimize.js');
  const { readRepository } = await import('../../live/models/repository.js');
  await runtimeOf({ experiment: undefined, set: [] });
  const models: OptimizedModel[] = [];
  for (const { onnxPath } of await readRepository(args.repository, precision)) {
    const { ortPath, made } = await optimizeModel(onnxPath, kind, args['cache-dir'] ?? null);
    models.push({ ortPath, made });
    if (args.json) continue;
    writeOut(
      `${ortPath} ${made === null ? 'is up to date' : made === 'damaged' ? 'was damaged and is rewritten' : 'written'}\n`,
    );
  }
  if (args.json) writeOut(`${JSON.stringify({ models })}\n`);
}
