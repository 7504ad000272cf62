import { it } from 'vitest';
import { tempDir } from '../../cli/run-cli.js';
import { play } from './play.js';
import { DOUBLING, IDLE, modelFaults, writeModels } from './scenarios/models.js';

it('losses of workers while ONNX models are replaced, sleep and wake up cost no request', {
  timeout: 900_000,
}, async () => {
  const repository = tempDir();
  writeModels(repository);
  await play(modelFaults(repository), {
    device: ['--repository', repository, '--memory', '256MiB'],
    subjects: DOUBLING,
    controllerArgs: ['--model-control', 'poll', '--poll-interval', '300ms', '--idle-unload', IDLE],
  });
});
