import { describe, expect, it } from 'vitest';
import { effectiveTree } from '../../../src/play/page/effective.js';
import { knobsOf } from '../../../src/play/page/knobs.js';

const knobs = (text: string) => {
  const setup = { file: 'experiment.yaml', text, overrides: [], lanes: [[]], files: {} };
  return knobsOf(effectiveTree(setup, 0));
};
const load = (rate: string) => knobs(`workload: { kind: poisson, rate: ${rate} }`)[0]!;

describe('the choices of a knob', () => {
  it.each([
    ['3000/s', '1500/s', undefined],
    ['650/s', '600/s', '800/s'],
    ['10/s', undefined, '50/s'],
    ['36000/m', '500/s', '800/s'],
    // The engine says what is wrong with it.
    ['fast', undefined, '50/s'],
  ])('hold what the experiment has in its place: %s', (rate, before, after) => {
    const { choices, value } = load(rate);
    const at = choices.indexOf(rate);
    expect([value, choices[at - 1], choices[at + 1]]).toEqual([rate, before, after]);
  });

  it('are the usual ones otherwise', () => {
    expect(load('600/s').choices).toEqual(load('100/s').choices);
  });
});
