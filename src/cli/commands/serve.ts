import type { Argv } from 'yargs';
import { machineFlags, machineOptions } from '../machine-flags.js';
import { runtimeHelp } from '../runtime-help.js';
import { listenFlags, runServer, serverFlags } from '../server-flags.js';

/** `escapement serve`: controller and one worker in one process. */
export function serveCommand(cli: Argv): void {
  cli.command(
    'serve',
    'Serve models over the Open Inference Protocol (HTTP and gRPC), scheduled to their objectives',
    (command) =>
      command
        .options({ ...machineFlags, ...serverFlags, ...listenFlags })
        .example('$0 serve --repository models', '')
        .example('$0 serve --repository models --device cpu --set slo=200ms --journal run.journal', '')
        .example('$0 serve --device simulated:profile.json --gpus 100 --copies 50', '')
        .epilogue(runtimeHelp()),
    async (args) => {
      const { startMachine } = await import('../../live/machine/local-machine.js');
      const { LocalWorker } = await import('../../live/transport/local-worker.js');
      const say = (what: string) => process.stderr.write(`serve: ${what}\n`);
      await runServer('server', args, async ({ runtime }) => {
        const machine = await startMachine(await machineOptions(args, runtime, say));
        return { links: [new LocalWorker(machine, say)], close: () => machine.close() };
      });
    },
  );
}
