import type { OptimizedModel } from '../../live/models/optimize.js';
import { writeOut } from '../../text/terminal.js';
import type { ModelOptimizeArgs } from '../commands/model-optimize.js';
import { runtimeOf } from '../live-settings.js';

/** `escapement model optimize DIR`: makes the files that devices load, ahead of serving. */
export async function run(args: ModelOptimizeArgs): Promise<void> {
  const { device: kind, precision } = args;
  // Only who looks at models needs onnxruntime.
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
