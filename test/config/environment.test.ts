import { describe, expect, it } from 'vitest';
import { environmentOverrides, unknownVariables } from '../../src/config/runtime-settings.js';

describe('environment variables', () => {
  it('set keys of the runtime, unless they are empty', () => {
    expect(
      environmentOverrides({ ESCAPEMENT_RECORDING: ' all ', ESCAPEMENT_SERIAL: ' ', HOME: '/' }),
    ).toEqual([{ variable: 'ESCAPEMENT_RECORDING', key: 'runtime.recording', value: 'all' }]);
  });

  it('that mean nothing are listed with the one that was probably meant', () => {
    expect(unknownVariables({ ESCAPEMENT_SERIALL: '1', ESCAPEMENT_XYZZY: '', SERIAL: '1' })).toEqual([
      { variable: 'ESCAPEMENT_SERIALL', meant: 'ESCAPEMENT_SERIAL' },
      { variable: 'ESCAPEMENT_XYZZY', meant: undefined },
    ]);
  });
});
