import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import { quoted } from '../../../../src/report/reproduce.js';
import type { Probe } from '../../../../src/tools/doctor/runtime/probe.js';
import { providerChecks } from '../../../../src/tools/doctor/runtime/runtime-checks.js';
import { find, statuses } from '../hosts.js';

const INSTALL_SCRIPT = createRequire(import.meta.url).resolve('onnxruntime-node/script/install.js');
const CPU: Probe = { outcome: 'runs', provider: 'cpu', onnxruntime: '1.30.0', tookMs: 41.7 };
const NO_CUDA: Probe = { outcome: 'fails', provider: 'cuda', reason: 'cuda needs libraries' };

describe('providers', () => {
  it('reports those that were not asked for, without a verdict', () => {
    const checks = providerChecks([CPU, NO_CUDA], 'cpu');
    expect(statuses(checks)).toEqual({
      'runtime.onnxruntime': 'ok',
      'runtime.provider.cpu': 'ok',
      'runtime.provider.cuda': 'skipped',
    });
    expect(checks.map(({ found }) => found)).toEqual([
      '1.30.0',
      'runs a model (42 ms)',
      'cuda needs libraries',
    ]);
  });

  it('requires the one that was asked for, and says how to get it', () => {
    expect(find(providerChecks([CPU, NO_CUDA], 'cuda'), 'runtime.provider.cuda')).toMatchObject({
      status: 'failed',
      requiredFor: ['worker'],
      fix: {
        commands: [`ONNXRUNTIME_NODE_INSTALL=cuda12 node ${quoted(INSTALL_SCRIPT)}`],
        asUser: true,
      },
    });
  });

  it('says why onnxruntime does not work at all', () => {
    const crash: Probe = { outcome: 'fails', provider: 'cpu', reason: 'crashes the process (SIGILL)' };
    const check = find(providerChecks([crash, NO_CUDA], 'cpu'), 'runtime.onnxruntime');
    expect(check).toMatchObject({ status: 'failed', found: 'crashes the process (SIGILL)' });
    // A command would install it into the folder that it is run in.
    expect(check.fix).toMatchObject({
      commands: [],
      note: expect.stringMatching(/where escapement is installed/),
    });
  });
});
