import type { LoadedRepository, ModelsOnDisk } from '../../live/models/models-on-disk.js';
import { machineOptions } from '../machine.js';
import { runServer } from '../run-server.js';
import type { ServeArgs } from '../usage/serve.js';

/** `escapement serve`: controller and one worker in one process. */
export async function run(args: ServeArgs): Promise<void> {
  const { startMachine } = await import('../../live/worker/local-machine.js');
  const { LocalLink } = await import('../../live/controller/link/local-link.js');
  await runServer('server', args, async ({ runtime }, log) => {
    const say = (what: string) => log.info(what);
    const options = await machineOptions(args, runtime, say);
    const machine = await startMachine(options);
    return {
      links: [new LocalLink(machine, (what) => log.warn(what))],
      repository: options.repository === null ? null : await modelsOnDisk(options.repository),
    };
  });
}

/** Loaded late: simulated devices do without. */
async function modelsOnDisk(loaded: LoadedRepository): Promise<ModelsOnDisk> {
  const { ModelsOnDisk } = await import('../../live/models/models-on-disk.js');
  return new ModelsOnDisk(loaded);
}
